// Progress of an export: the file is fetched and counted as it comes, then saved. Without this the
// form downloads the file as any link does.

const form = document.querySelector('#export');
const section = document.querySelector('#progress');
const told = section.querySelector('.told');
const bar = section.querySelector('progress');
const button = (name) => section.querySelector(`[data-do=${name}]`);
const number = new Intl.NumberFormat(document.documentElement.lang);
const size = (bytes) => (bytes < 1048576
  ? `${number.format(Math.ceil(bytes / 1024))} KB`
  : `${number.format(Math.round(bytes / 104857.6) / 10)} MB`);

let stop = null;
let file = null;
let address = null;

/** Returns a function that counts the messages of a format in the next bytes. */
function counter(format) {
  if (format === 'html') {
    const mark = new TextEncoder().encode('<article ');
    let at = 0;
    return (bytes) => bytes.reduce((count, byte) => {
      at = byte === mark[at] ? at + 1 : Number(byte === mark[0]);
      if (at < mark.length) return count;
      at = 0;
      return count + 1;
    }, 0);
  }
  let quoted = false;
  let first = format === 'csv';
  return (bytes) => bytes.reduce((count, byte) => {
    if (byte === 34 && format === 'csv') quoted = !quoted;
    if (byte !== 10 || quoted) return count;
    if (!first) return count + 1;
    first = false;
    return count;
  }, 0);
}

/** Shows what belongs to a state: running, ready, failed or cancelled. */
function turn(state) {
  form.hidden = state !== null;
  section.hidden = state === null;
  for (const part of section.querySelectorAll('[data-when]')) {
    part.hidden = !part.dataset.when.split(' ').includes(state);
  }
  bar.hidden = state !== 'running';
  button('share').hidden = true;
}

function tell(sentence, figures) {
  const put = (text, [name, value]) => text.replace(`{${name}}`, value);
  told.textContent = Object.entries(figures).reduce(put, sentence);
}

/** Fetches the file; the browser keeps its bytes where it keeps large ones. */
async function fetchFile(address, format) {
  // Only the end is read out.
  told.setAttribute('aria-live', 'off');
  stop = new AbortController();
  const answer = await fetch(address, { credentials: 'same-origin', signal: stop.signal });
  if (!answer.ok || answer.redirected) return null;
  const total = Number(answer.headers.get('x-message-count'));
  const count = counter(format);
  let [done, bytes] = [0, 0];
  bar.max = Math.max(total, 1);
  const show = () => {
    bar.value = Math.min(done, total);
    const figures = { done: number.format(done), total: number.format(total), size: size(bytes) };
    tell(section.dataset.progress, figures);
  };
  show();
  const timer = setInterval(show, 250);
  try {
    const counting = new TransformStream({
      transform(chunk, out) {
        done += count(chunk);
        bytes += chunk.length;
        out.enqueue(chunk);
      },
    });
    const type = answer.headers.get('content-type');
    const content = await new Response(answer.body.pipeThrough(counting), { headers: { 'content-type': type } }).blob();
    told.setAttribute('aria-live', 'polite');
    tell(section.dataset.ready, { total: number.format(done), size: size(bytes) });
    return content;
  } finally {
    clearInterval(timer);
    stop = null;
  }
}

/** Offers the file for saving, and for handing it to another app. */
function offer(content, format) {
  const name = `${form.dataset.name.replace(/[\\/:*?"<>|]/g, '_')}.${format}`;
  file = new File([content], name, { type: content.type });
  address = URL.createObjectURL(file);
  const save = button('save');
  save.href = address;
  save.download = name;
  turn('ready');
  button('share').hidden = !navigator.canShare?.({ files: [file] });
  save.click();
  save.focus();
}

form.addEventListener('submit', async (event) => {
  // The button for an export in the background leads to a page.
  if (event.submitter?.formMethod === 'post') return;
  event.preventDefault();
  const data = new FormData(form);
  const url = `${form.action}?${new URLSearchParams(data)}`;
  turn('running');
  button('cancel').focus();
  try {
    const content = await fetchFile(url, data.get('format'));
    // The page that says what is wrong.
    if (content === null) location.assign(url);
    else offer(content, data.get('format'));
  } catch (error) {
    told.textContent = '';
    turn(error.name === 'AbortError' ? 'cancelled' : 'failed');
    button('again').focus();
  }
});
button('cancel').addEventListener('click', () => stop?.abort());
button('share').addEventListener('click', () => navigator.share({ files: [file] }).catch(() => {}));
button('again').addEventListener('click', () => {
  if (address) URL.revokeObjectURL(address);
  [file, address] = [null, null];
  turn(null);
  form.querySelector('button').focus();
});
addEventListener('beforeunload', (event) => {
  if (stop) event.preventDefault();
});
