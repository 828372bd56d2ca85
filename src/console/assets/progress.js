// Progress of work that goes on: the page is asked again, and what has changed is taken over. Without
// this the page loads itself again.

/** Attribute of the part that tells of the work: seconds after which the page is asked again. */
const REFRESH = 'data-refresh';
/** Time in milliseconds until a page that could not be fetched is asked for again. */
const RETRY = 5_000;

/** Takes over what a later version of the page says; what is the same stays, and keeps the focus. */
function update(old, now) {
  if (old.isEqualNode(now)) return;
  if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== now.nodeName) {
    old.replaceWith(document.importNode(now, true));
    return;
  }
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) old.setAttribute(name, value);
  let at = old.firstChild;
  for (const child of now.childNodes) {
    let same = at;
    const is = (one) => one.nodeName === child.nodeName && one.id === child.id;
    if (child.nodeType === Node.ELEMENT_NODE) while (same && !is(same)) same = same.nextSibling;
    else if (same && !is(same)) same = null;
    if (same) {
      while (at !== same) {
        const gone = at;
        at = at.nextSibling;
        gone.remove();
      }
      at = same.nextSibling;
      update(same, child);
    } else {
      old.insertBefore(document.importNode(child, true), at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

/** Shows how far work is while it goes on, and says aloud what has ended. */
function progress(work) {
  const status = document.createElement('p');
  status.className = 'aside';
  status.setAttribute('role', 'status');
  document.body.append(status);
  const results = (part) => [...part.querySelectorAll('[data-result]')]
    .map((one) => `${one.dataset.result} ${one.textContent}`.trim());
  let known = results(work);

  async function look() {
    try {
      const answer = await fetch(location.href, { credentials: 'same-origin' });
      // Somebody is signed out, or what is worked on is gone: there is a page about it.
      if (answer.redirected || answer.status === 404) {
        location.reload();
        return;
      }
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const now = page.getElementById(work.id);
      if (!now) throw new Error('no such part');
      const focused = work.contains(document.activeElement);
      document.title = page.title;
      update(work, now);
      if (focused && document.activeElement === document.body) document.querySelector('main').focus();
      const fresh = results(work).filter((result) => !known.includes(result));
      if (fresh.length > 0) status.textContent = fresh.join(' ');
      known = results(work);
      if (work.hasAttribute(REFRESH)) later();
    } catch {
      setTimeout(look, RETRY);
    }
  }
  function later() {
    setTimeout(look, Number(work.getAttribute(REFRESH)) * 1000);
  }
  later();
}

progress(document.querySelector(`[${REFRESH}]`));
