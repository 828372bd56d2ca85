// Comfort on top of pages that work without it: endless scrolling, news, photos in full.

const scroller = document.querySelector('#scroller');
const messages = document.querySelector('#messages');

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
      const anchor = older ? messages.firstElementChild : messages.lastElementChild;
      const before = anchor?.getBoundingClientRect().top ?? 0;
      const rows = freshRows(page).map((row) => document.importNode(row, true));
      if (older) messages.prepend(...rows);
      else messages.append(...rows);
      tidyDays();
      const next = page.querySelector(`[data-more="${more.dataset.more}"], .begin`);
      const own = next?.classList.contains('begin') && !older ? null : next;
      if (!older && page.querySelector('#scroller').dataset.news) follow(page);
      if (own) {
        const link = document.importNode(own, true);
        more.replaceWith(link);
        if (link.dataset.more) watcher.observe(link);
      } else {
        more.remove();
      }
      // The message in sight stays where it is.
      const kept = anchor?.isConnected ? anchor : messages.querySelector('.row');
      if (older && anchor?.isConnected) scroller.scrollTop += kept.getBoundingClientRect().top - before;
    } catch {
      // The link stays: it works without script, too.
      watched.delete(more);
    }
  }

  for (const more of document.querySelectorAll('[data-more]')) watcher.observe(more);
}

let following = scroller?.dataset.following;

/** Takes over from a page that ends with the newest message. */
function follow(page) {
  const data = page.querySelector('#scroller').dataset;
  following = data.following ?? following;
  news(data.news);
}

let source = null;

/** Shows new messages as they come. */
function news(url) {
  if (source || !url) return;
  const pill = document.querySelector('#pill');
  let busy = false;
  let again = false;

  async function take() {
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
    } catch {
      // The next event tries it again.
    }
    busy = false;
    if (again) {
      again = false;
      take();
    }
  }

  source = new EventSource(url);
  source.addEventListener('news', take);
  // What came while the connection was lost.
  let opened = false;
  source.addEventListener('open', () => {
    if (opened) take();
    opened = true;
  });
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
    const at = all.indexOf(link);
    picture.src = link.href;
    picture.alt = link.querySelector('img').alt;
    download.href = link.href;
    previous.disabled = at <= 0;
    next.disabled = at < 0 || at >= all.length - 1;
    if (!dialog.open) dialog.showModal();
  }

  function step(by) {
    const all = photos();
    show(all[all.indexOf(current) + by]);
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
    const before = button.textContent;
    const spoken = button.getAttribute('aria-label');
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = button.dataset.copied;
      button.setAttribute('aria-label', button.dataset.copied);
      setTimeout(() => {
        button.textContent = before;
        button.setAttribute('aria-label', spoken);
      }, 2000);
    });
  }
}

document.querySelectorAll('.tabs [aria-current]').forEach((tab) => tab.scrollIntoView({ inline: 'center', block: 'nearest' }));
menus();
copies();
if (scroller && messages) {
  document.querySelector('.row.target')?.scrollIntoView({ block: 'center' });
  endless();
  news(scroller.dataset.news);
  viewer();
  dates();
}
