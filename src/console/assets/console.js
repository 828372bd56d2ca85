// Comfort on top of pages that work without it: endless scrolling, news, photos in full.

const scroller = document.querySelector('#scroller');
const messages = document.querySelector('#messages');
/** Pause in milliseconds before news are asked for again after a refusal. */
const REFUSED = 30_000;
/** Time until what could not be fetched is fetched again. */
const RETRY = 5_000;
/** Time in milliseconds after which a form that was sent can be sent again. */
const SENDING = 10_000;
/** Rows of one request. */
const ROWS = 100;
/** Name in the tab's storage of the form that was sent last. */
const FORM = 'form';

/** Shows the present page in rows of tabs that are wider than the window. */
function tabs() {
  for (const tab of document.querySelectorAll('.tabs [aria-current]')) {
    const row = tab.closest('.tabs');
    const place = tab.getBoundingClientRect();
    row.scrollLeft += place.left + place.width / 2 - row.getBoundingClientRect().left - row.clientWidth / 2;
  }
}

/** Closes the menu on a tap elsewhere and on Escape. */
function menus() {
  const menu = document.querySelector('.menu');
  document.addEventListener('click', (event) => {
    if (menu?.open && !menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && menu?.open) {
      menu.open = false;
      menu.querySelector('summary').focus();
    }
  });
}

/** Fetches a page of the conversation. */
async function fetchPage(url) {
  const answer = await fetch(url, { credentials: 'same-origin' });
  if (!answer.ok || answer.redirected) throw new Error(`status ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), 'text/html');
}

/** Returns the rows of a fetched page that are not shown yet. */
function freshRows(page) {
  const rows = [...page.querySelectorAll('#messages > li')];
  return rows.filter((row) => !row.id || !document.getElementById(row.id));
}

/** Removes day headings that repeat the one before, and those without messages. */
function tidyDays() {
  let last = null;
  for (const day of [...messages.querySelectorAll('.day')]) {
    if (last === day.dataset.day || day.nextElementSibling === null) day.remove();
    else last = day.dataset.day;
  }
}

/** True if the newest message is in sight. */
function isAtEnd() {
  const below = scroller.scrollHeight - scroller.clientHeight;
  const at = scroller.classList.contains('at-end') ? -scroller.scrollTop : below - scroller.scrollTop;
  return Math.abs(at) < 80;
}

function toEnd() {
  messages.lastElementChild?.scrollIntoView({ block: 'end' });
}

/** Loads the neighbours of the page when their links come into sight. */
function endless() {
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) load(entry.target);
  }, { root: scroller, rootMargin: '600px 0px' });
  const watched = new Set();

  async function load(more) {
    if (watched.has(more)) return;
    watched.add(more);
    try {
      const page = await fetchPage(more.querySelector('a').href);
      const older = more.dataset.more === 'older';
      // A message in sight stays where it is; not every browser sees to that by itself.
      const anchor = messages.querySelector('.row');
      const before = anchor?.getBoundingClientRect().top ?? 0;
      const rows = freshRows(page).map((row) => document.importNode(row, true));
      if (older) messages.prepend(...rows);
      else messages.append(...rows);
      tidyDays();
      const next = page.querySelector(`[data-more="${more.dataset.more}"], .begin`);
      const own = next?.classList.contains('begin') && !older ? null : next;
      if (!older && 'end' in page.querySelector('#scroller').dataset) follow(page);
      if (own) {
        const link = document.importNode(own, true);
        more.replaceWith(link);
        if (link.dataset.more) watcher.observe(link);
      } else {
        more.remove();
      }
      if (anchor) scroller.scrollTop += anchor.getBoundingClientRect().top - before;
    } catch {
      // The link stays: it works without script, too.
      watched.delete(more);
    }
  }

  for (const more of document.querySelectorAll('[data-more]')) watcher.observe(more);
}

let following = scroller?.dataset.following;
/** True if the last row is the newest message, so that new ones follow it. */
let ended = scroller !== null && 'end' in scroller.dataset;
let take = () => {};

/** Takes over from a page that ends with the newest message. */
function follow(page) {
  following = page.querySelector('#scroller').dataset.following ?? following;
  ended = true;
  take();
}

/** Returns the name of a message's row. */
function rowName(id) {
  const escaped = (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`;
  return `m-${encodeURIComponent(id).replace(/[!'()*]/g, escaped)}`;
}

/** Returns the rows of messages, and those that quote them. */
function affectedRows(ids) {
  const names = new Set(ids.map(rowName));
  const rows = [...names].map((name) => document.getElementById(name)).filter((row) => row);
  for (const quote of messages.querySelectorAll('a.quote')) {
    const quoted = decodeURIComponent(new URL(quote.href).hash.slice(1));
    if (names.has(quoted)) rows.push(quote.closest('.row'));
  }
  return [...new Set(rows)];
}

/** Replaces what messages say, and what quotes them. */
async function refresh(ids) {
  const rows = affectedRows(ids);
  for (let at = 0; at < rows.length; at += ROWS) await refreshRows(rows.slice(at, at + ROWS));
}

/** Replaces what rows say; what is in sight stays where it is. */
async function refreshRows(rows) {
  const asked = rows.map((row) => ['id', decodeURIComponent(row.id.slice(2))]);
  const page = await fetchPage(`${scroller.dataset.news.replace(/news$/, 'rows')}?${new URLSearchParams(asked)}`);
  const wasAtEnd = isAtEnd();
  const top = scroller.getBoundingClientRect().top;
  const kept = [...messages.children].find((row) => row.getBoundingClientRect().bottom > top);
  const before = kept?.getBoundingClientRect().top;
  for (const row of rows) {
    const now = page.getElementById(row.id);
    if (now) replaceRow(row, now);
    else row.remove();
  }
  tidyDays();
  if (wasAtEnd) toEnd();
  else if (kept?.isConnected) scroller.scrollTop += kept.getBoundingClientRect().top - before;
  const open = document.querySelector('#viewer[open]');
  const photo = open?.querySelector('img').src;
  const photos = [...messages.querySelectorAll('a[data-photo]')];
  if (open && !photos.some((link) => link.href === photo)) open.close();
}

/** Takes over what another form of a row says; whether it shows its sender depends on neighbours. */
function replaceRow(row, now) {
  const focused = row.contains(document.activeElement) ? document.activeElement : null;
  for (const part of ['.bubble', '.meta', '.origin']) {
    const [old, fresh] = [row.querySelector(part), now.querySelector(part)];
    // What is the same stays: somebody may be listening to it.
    if (fresh && old?.isEqualNode(fresh)) continue;
    if (fresh && old) old.replaceWith(document.importNode(fresh, true));
    else if (fresh) row.append(document.importNode(fresh, true));
    else old?.remove();
  }
  if (focused && !focused.isConnected) row.querySelector('.meta a')?.focus({ preventScroll: true });
}

/** Shows new messages as they come, and changes of those that are shown. */
function news(url) {
  const pill = document.querySelector('#pill');
  /** Position of what is shown; the page has it from when it was made. */
  let place = scroller.dataset.place;
  let busy = false;
  let again = false;
  let source;
  /** What could not be fetched: messages that changed, and whether there are new ones. */
  let missed = [];
  let behind = false;
  let pause;

  function repeatLater() {
    clearTimeout(pause);
    pause = setTimeout(repeat, RETRY);
  }

  /** Fetches what could not be fetched. */
  function repeat() {
    clearTimeout(pause);
    const ids = [...new Set(missed)];
    missed = [];
    if (ids.length > 0) change(ids);
    if (behind) take();
  }

  function change(ids) {
    refresh(ids).catch(() => {
      missed.push(...ids);
      repeatLater();
    });
  }

  take = async () => {
    if (!ended) return;
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const at = following ?? location.pathname;
      const page = await fetchPage(at);
      following = page.querySelector('#scroller').dataset.following ?? following;
      const rows = freshRows(page);
      const fresh = rows.filter((row) => row.id);
      if (fresh.length > 0) {
        const wasAtEnd = isAtEnd();
        document.querySelector('.talk > .empty')?.remove();
        messages.append(...rows.map((row) => document.importNode(row, true)));
        tidyDays();
        if (wasAtEnd || fresh.at(-1).classList.contains('mine')) toEnd();
        else pill.hidden = false;
      }
      again ||= page.querySelector('[data-more="newer"]') !== null && fresh.length > 0;
      behind = false;
    } catch {
      behind = true;
      repeatLater();
    }
    busy = false;
    if (again) {
      again = false;
      take();
    }
  };

  function connect() {
    source = new EventSource(`${url}?${new URLSearchParams({ since: place })}`);
    const on = (name, act) => source.addEventListener(name, (event) => {
      place = event.lastEventId || place;
      act(event);
    });
    on('changed', (event) => change(JSON.parse(event.data)));
    on('news', take);
    // The connection was lost for so long that nobody knows what changed.
    on('stale', () => {
      take();
      const shown = [...messages.querySelectorAll('.row[id]')].slice(-100);
      change(shown.map((row) => decodeURIComponent(row.id.slice(2))));
    });
    source.addEventListener('open', repeat);
    // Browsers connect again after an outage, but not after a refusal.
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, REFUSED);
    });
  }

  connect();
  pill.addEventListener('click', () => {
    pill.hidden = true;
    toEnd();
  });
  scroller.addEventListener('scroll', () => {
    if (isAtEnd()) pill.hidden = true;
  }, { passive: true });
}

/** Shows photos in full: keys, swipes, download. */
function viewer() {
  const dialog = document.querySelector('#viewer');
  const picture = dialog.querySelector('img');
  const download = dialog.querySelector('a');
  const [previous, next] = ['previous', 'next'].map((name) => dialog.querySelector(`[data-do=${name}]`));
  let current = null;

  const photos = () => [...messages.querySelectorAll('a[data-photo]')];

  function show(link) {
    if (!link) return;
    current = link;
    const all = photos();
    const at = all.findIndex((one) => one.href === link.href);
    picture.src = link.href;
    picture.alt = link.querySelector('img').alt;
    download.href = link.href;
    previous.disabled = at <= 0;
    next.disabled = at < 0 || at >= all.length - 1;
    if (!dialog.open) dialog.showModal();
  }

  function step(by) {
    const all = photos();
    show(all[all.findIndex((one) => one.href === current.href) + by]);
  }

  messages.addEventListener('click', (event) => {
    const link = event.target.closest('a[data-photo]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(link);
  });
  dialog.addEventListener('click', (event) => {
    const what = event.target.closest('[data-do]')?.dataset.do;
    if (what === 'previous') step(-1);
    else if (what === 'next') step(1);
    else if (what === 'close' || event.target === dialog) dialog.close();
  });
  dialog.addEventListener('keydown', (event) => {
    const forward = getComputedStyle(dialog).direction === 'rtl' ? -1 : 1;
    if (event.key === 'ArrowLeft') step(-forward);
    else if (event.key === 'ArrowRight') step(forward);
  });
  dialog.addEventListener('close', () => {
    picture.removeAttribute('src');
    current?.focus();
  });
  let from = null;
  dialog.addEventListener('touchstart', (event) => {
    from = event.touches.length === 1 ? event.touches[0] : null;
    if (from) from = { x: from.clientX, y: from.clientY };
  }, { passive: true });
  dialog.addEventListener('touchend', (event) => {
    if (!from) return;
    const [x, y] = [event.changedTouches[0].clientX - from.x, event.changedTouches[0].clientY - from.y];
    if (Math.abs(x) > 50 && Math.abs(x) > Math.abs(y)) step(x < 0 ? 1 : -1);
    else if (y > 90) dialog.close();
  });
}

/** Goes to a date as soon as it is chosen; typing one digit by digit is not choosing. */
function dates() {
  const input = document.querySelector('.jump input');
  let typed = false;
  input?.addEventListener('keydown', () => { typed = true; });
  input?.addEventListener('change', () => {
    if (!typed && input.value) input.form.requestSubmit();
  });
}

/** Offers to copy a text, where the browser lets pages do that. */
function copies() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll('[data-copy]')) {
    const text = document.getElementById(button.dataset.copy);
    const before = button.textContent;
    const spoken = button.getAttribute('aria-label');
    button.hidden = false;
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
      } catch {
        // Where copying is refused, the text is selected for the keys of the browser.
        getSelection().selectAllChildren(text);
        return;
      }
      button.textContent = button.dataset.copied;
      button.setAttribute('aria-label', button.dataset.copied);
      setTimeout(() => {
        button.textContent = before;
        button.setAttribute('aria-label', spoken);
      }, 2000);
    });
  }
}

/** Sends a form once, however often its button is pressed before the next page is there. */
function sendOnce() {
  const sent = new WeakSet();
  document.addEventListener('submit', (event) => {
    const form = event.target;
    // What a script sends, or saves as a file, leaves the page as it is.
    if (event.defaultPrevented || posted(form, event.submitter) === null) return;
    if (sent.has(form)) {
      event.preventDefault();
      return;
    }
    sent.add(form);
    setTimeout(() => sent.delete(form), SENDING);
  });
  addEventListener('pageshow', () => [...document.forms].forEach((form) => sent.delete(form)));
}

/** Keeps what was sent last, in this tab alone: a session that has ended takes no form. */
function keepForms() {
  document.addEventListener('submit', ({ target: form, submitter }) => {
    const path = posted(form, submitter);
    // Forms of somebody who signs in are not what was typed before.
    if (path === null || !person()) return;
    const fields = [...new FormData(form)].filter(([name, value]) => name !== 'csrf' && typeof value === 'string');
    const sent = 'person' in form.dataset ? null : { person: person(), path, fields };
    storage((tab) => tab.setItem(FORM, JSON.stringify(sent)));
  });
}

/** Fills a form with what the same person sent before their session had ended. */
function restoreForm(sent) {
  if (!sent || sent.person !== person() || sent.path !== location.pathname) return;
  const form = [...document.forms].find((one) => isSame(one, sent));
  for (const control of form?.elements ?? []) {
    const is = ([name, value]) => name === control.name && (!isChoice(control) || value === control.value);
    const at = sent.fields.findIndex(is);
    if (isChoice(control)) control.checked = at >= 0;
    else if (at >= 0 && control.localName !== 'button') [[, control.value]] = sent.fields.splice(at, 1);
  }
}

/**
 * True for the form that was sent: a page has several, told apart by their hidden fields. Only
 * versions and digests of what it was filled with may differ, and the id of the form; those that were
 * sent tell the service whether somebody else changed it.
 */
function isSame(form, { path, fields }) {
  const has = ({ name, value }) => fields.some((field) => field[0] === name && field[1] === value);
  const hidden = [...form.querySelectorAll('input[type=hidden]')].filter(({ name }) => !['csrf', 'form', 'seen'].includes(name) && !name.endsWith('version'));
  return posted(form) === path
    && fields.every(([name]) => form.elements.namedItem(name)) && hidden.every(has);
}

/** Uses the tab's storage. A browser may refuse it, or have no room: then nothing is kept. */
function storage(use) {
  try {
    return use(sessionStorage);
  } catch {
    return null;
  }
}

function isChoice({ type }) {
  return type === 'checkbox' || type === 'radio';
}

/** Returns the mark of whom the page is for. */
function person() {
  return document.querySelector('[data-person]')?.dataset.person;
}

/**
 * Returns the path that a form is posted to, by itself or by a button that says so; null if it is not
 * posted. A field may be named "action".
 */
function posted(form, button = form.querySelector('[formmethod=post]')) {
  const method = button?.getAttribute('formmethod') ?? form.getAttribute('method');
  const action = button?.getAttribute('formaction') ?? form.getAttribute('action') ?? '';
  return method === 'post' ? new URL(action, location.href).pathname : null;
}

/** Takes the confirmation of a change out of the address, so that it is not shown once more. */
function confirmed() {
  const here = new URL(location.href);
  if (!here.searchParams.has('done')) return;
  const sent = storage((tab) => JSON.parse(tab.getItem(FORM)));
  storage((tab) => tab.removeItem(FORM));
  if (here.searchParams.get('done') === 'unsent') restoreForm(sent);
  here.searchParams.delete('done');
  history.replaceState(history.state, '', here);
}

tabs();
menus();
sendOnce();
keepForms();
confirmed();
copies();
if (scroller && messages) {
  document.querySelector('.row.target')?.scrollIntoView({ block: 'center' });
  endless();
  news(scroller.dataset.news);
  viewer();
  dates();
}
