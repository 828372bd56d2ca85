// Comfort on top of the pages of rules and texts, which work without it: keywords as chips, rules
// edited in their row, tables from files, the preview of the welcome.

/** Words between commas and line ends; a comma between two digits is part of a number. */
const WORDS = /(?:[0-9],(?=[0-9])|[^,，、\n])+/gu;
/** Word that is being typed, at the end: after a digit, a comma may be part of a number. */
const LAST_WORD = /(?:[0-9],(?=[0-9]|$)|[^,，、])*$/u;

/** Turns a field with one keyword a line into chips: Enter, comma and 、 add, backspace removes. */
function chips(field) {
  const { remove, added, removed, hint } = field.dataset;
  const words = () => field.value.split('\n').map((word) => word.trim()).filter(Boolean);
  const box = document.createElement('div');
  const list = document.createElement('ul');
  const entry = document.createElement('input');
  const status = document.createElement('span');
  box.className = 'chip-input';
  entry.type = 'text';
  entry.autocapitalize = 'none';
  entry.autocomplete = 'off';
  entry.dir = 'auto';
  entry.lang = '';
  entry.enterKeyHint = 'enter';
  status.className = 'aside';
  status.setAttribute('role', 'status');
  // The label and the sentences belong to what people see.
  entry.id = field.id;
  field.removeAttribute('id');
  for (const name of ['aria-describedby', 'aria-invalid']) {
    if (field.hasAttribute(name)) entry.setAttribute(name, field.getAttribute(name));
    field.removeAttribute(name);
  }
  const lines = document.querySelector(`#${entry.id}-hint span`);
  if (lines) lines.textContent = hint;
  field.hidden = true;
  field.before(box);
  box.append(list, entry, status);

  function show() {
    list.replaceChildren(...words().map((word, at) => {
      const item = document.createElement('li');
      const chip = document.createElement('button');
      const text = document.createElement('bdi');
      const cross = document.createElement('span');
      chip.type = 'button';
      chip.className = 'chip';
      chip.setAttribute('aria-label', remove.replace('{}', () => word));
      text.textContent = word;
      cross.textContent = '×';
      cross.ariaHidden = 'true';
      chip.append(text, ' ', cross);
      chip.addEventListener('click', () => {
        drop(at);
        (list.querySelectorAll('button')[at] ?? entry).focus();
      });
      item.append(chip);
      return item;
    }));
  }

  function drop(at) {
    const kept = words();
    const [word] = kept.splice(at, 1);
    field.value = kept.join('\n');
    show();
    status.textContent = `${removed}: ${word}`;
    return word;
  }

  function add(parts) {
    const fresh = parts.map((word) => word.trim()).filter(Boolean);
    entry.value = '';
    if (fresh.length === 0) return;
    field.value = [...new Set([...words(), ...fresh])].join('\n');
    show();
    status.textContent = `${added}: ${fresh.join(', ')}`;
  }

  const addTyped = () => add(entry.value.match(WORDS) ?? []);
  entry.addEventListener('keydown', (event) => {
    // Enter also chooses what an input method proposes.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === 'Enter') {
      // In an empty entry, too, it would send the form.
      event.preventDefault();
      addTyped();
    } else if (event.key === 'Backspace' && entry.value === '' && words().length > 0) {
      event.preventDefault();
      entry.value = drop(words().length - 1);
    }
  });
  const typed = ({ isComposing }) => {
    const text = entry.value;
    const [rest] = text.match(LAST_WORD);
    if (isComposing || rest === text) return;
    add(text.slice(0, text.length - rest.length).match(WORDS) ?? []);
    entry.value = rest.trimStart();
  };
  entry.addEventListener('input', typed);
  entry.addEventListener('compositionend', () => typed({ isComposing: false }));
  entry.addEventListener('paste', (event) => {
    const text = event.clipboardData.getData('text');
    if (!/[\r\n\t]/u.test(text)) return;
    event.preventDefault();
    add((entry.value + text).split(/[\r\n\t]/u));
  });
  entry.addEventListener('blur', addTyped);
  field.form.addEventListener('submit', addTyped, { capture: true });
  list.addEventListener('click', (event) => {
    if (event.target === list) entry.focus();
  });
  show();
  if (field.autofocus) entry.focus();
  // Whoever comes back finds what the browser has filled in again.
  addEventListener('pageshow', show);
}

function enhance(root) {
  for (const field of root.querySelectorAll('[data-chips]')) chips(field);
}

async function fetchForm(url, options) {
  const answer = await fetch(url, { credentials: 'same-origin', ...options });
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  return { answer, form: page.querySelector('form[data-rule]') };
}

/** The row whose rule is being edited: its form, and the cells that come back. */
let open = null;

function close() {
  open.row.classList.remove('editing');
  open.row.replaceChildren(...open.cells);
  open.row.querySelector('[data-edit]').focus();
  open = null;
}

function place(row, form) {
  const cell = document.createElement('td');
  cell.colSpan = 4;
  cell.setAttribute('role', 'cell');
  cell.append(document.importNode(form, true));
  row.classList.add('editing');
  row.replaceChildren(cell);
  enhance(cell);
  const own = cell.querySelector('form');
  own.querySelector('[data-cancel]').addEventListener('click', (event) => {
    event.preventDefault();
    close();
  });
  own.addEventListener('submit', (event) => submit(event, own));
  (own.querySelector('[aria-invalid]:not([hidden]), [role=alert]') ?? own.querySelector('input:not([type=hidden])')).focus();
  return new URLSearchParams(new FormData(own)).toString();
}

/** Edits a rule in its row. */
async function edit(link) {
  const row = link.closest('tr');
  try {
    const { answer, form } = await fetchForm(link.href);
    if (!answer.ok || !form) throw new Error(`status ${answer.status}`);
    open = { row, cells: [...row.children], before: '' };
    open.before = place(row, form);
  } catch {
    location.assign(link.href);
  }
}

/** Sends the form of a row: its errors appear in the row, a success shows the table anew. */
async function submit(event, form) {
  if (['delete', 'compare'].includes(event.submitter?.value)) return;
  event.preventDefault();
  const button = form.querySelector('.main');
  button.disabled = true;
  try {
    const body = new URLSearchParams(new FormData(form));
    const { answer, form: again } = await fetchForm(form.action, { method: 'POST', body });
    if (answer.redirected && answer.ok && !again) {
      const to = new URL(answer.url);
      to.hash = open.row.id;
      const here = location.href.split('#')[0] === to.href.split('#')[0];
      if (here) {
        location.hash = to.hash;
        location.reload();
      } else {
        location.assign(to);
      }
      return;
    }
    if (!again) throw new Error(`status ${answer.status}`);
    place(open.row, again);
  } catch {
    // The browser sends it as it does without script, and shows what comes back.
    form.submit();
  }
}

/** Reads a file as text: UTF-8, UTF-16, or the encoding that spreadsheets use in this language. */
async function text(file, language) {
  const bytes = await file.arrayBuffer();
  const [first, second] = new Uint8Array(bytes, 0, Math.min(2, bytes.byteLength));
  const wide = { '255,254': 'utf-16le', '254,255': 'utf-16be' }[`${first},${second}`];
  if (wide) return new TextDecoder(wide).decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const usual = { 'zh-Hant': 'big5', ja: 'shift_jis', th: 'windows-874' };
    return new TextDecoder(usual[language] ?? 'windows-1252').decode(bytes);
  }
}

function files(form) {
  const choice = form.querySelector('.file-choice');
  choice.hidden = false;
  choice.querySelector('input').addEventListener('change', async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    form.querySelector('textarea').value = await text(file, document.documentElement.lang);
    form.requestSubmit();
  });
}

/** Shows the welcome as it is typed, as the server renders it. */
function preview() {
  const form = document.querySelector('form[data-preview]');
  const text = form?.elements.welcome_text;
  if (!text) return;
  form.querySelector('[data-preview-button]').hidden = true;
  let timer = null;
  let asked = null;

  async function show() {
    asked?.abort();
    asked = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    body.set('do', 'preview');
    try {
      const answer = await fetch(location.pathname, { method: 'POST', body, signal: asked.signal });
      if (!answer.ok || answer.redirected) return;
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const fresh = page.querySelector('#preview');
      if (fresh) document.querySelector('#preview').replaceChildren(...fresh.childNodes);
    } catch {
      // The next letter tries it again.
    }
  }

  text.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(show, 250);
  });
  // What was typed before the session had ended is there again.
  if (text.value !== text.defaultValue) show();
}

enhance(document);
preview();
for (const form of document.querySelectorAll('[data-import]')) files(form);
document.querySelector('table.rules')?.addEventListener('click', (event) => {
  const link = event.target.closest('a[data-edit]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (open) {
    const form = open.row.querySelector('form');
    if (new URLSearchParams(new FormData(form)).toString() !== open.before) {
      // What is typed there is not thrown away.
      form.scrollIntoView({ block: 'center' });
      form.querySelector('.main').focus();
      return;
    }
    close();
  }
  edit(link);
});
