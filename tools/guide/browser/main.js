/** What pages of the guide do: colours as chosen, the menu on small screens, copied code, the search on demand. */
const own = document.currentScript;
const root = document.documentElement;
/** The choice that the console keeps as well. */
const themeKey = 'haumea.theme';
/** Where the console is when the guide is read without a server. */
const usualConsole = 'http://localhost:9081/console/';

setTheme(kept());
addEventListener('DOMContentLoaded', () => {
  const find = (selector) => document.querySelector(selector);
  const select = find('.theme select');
  select.value = kept();
  select.addEventListener('change', () => setTheme(select.value));
  for (const part of document.querySelectorAll('.theme, .menu, .find')) part.hidden = false;
  const menu = find('.menu');
  menu.addEventListener('click', () => openMenu(menu.getAttribute('aria-expanded') !== 'true'));
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape') openMenu(false);
    if (event.key === '/' && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      void openSearch();
    }
  });
  find('.find').addEventListener('click', () => void openSearch());
  const [all, current] = [find('.parts'), find('.parts [aria-current]')];
  if (current !== null) all.scrollTop = current.offsetTop - all.clientHeight / 2;
  const contents = find('.contents');
  const isWide = matchMedia('(min-width: 1100px)');
  const follow = () => contents?.toggleAttribute('open', isWide.matches);
  isWide.addEventListener('change', follow);
  follow();
  for (const code of document.querySelectorAll('.code:not(.case)')) addCopy(code);
  nameScrollers();
  addEventListener('resize', nameScrollers);
  void findConsole();

  function openMenu(isOpen) {
    menu.setAttribute('aria-expanded', String(isOpen));
    find('.parts').classList.toggle('open', isOpen);
  }
});

function kept() {
  try {
    return localStorage.getItem(themeKey) ?? 'auto';
  } catch {
    return 'auto';
  }
}

function setTheme(theme) {
  root.dataset.theme = theme;
  try {
    localStorage.setItem(themeKey, theme);
  } catch {
    // A browser that keeps nothing forgets the choice.
  }
}

function addCopy(code) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(code.querySelector('pre').textContent);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  code.append(button);
}

/** What scrolls is reached by the keyboard, and only that. */
function nameScrollers() {
  for (const part of document.querySelectorAll('.scroll, pre')) {
    const isScrolled = part.scrollWidth > part.clientWidth + 1;
    part.toggleAttribute('tabindex', isScrolled);
    if (!isScrolled) {
      part.removeAttribute('role');
      part.removeAttribute('aria-label');
      continue;
    }
    part.tabIndex = 0;
    part.setAttribute('role', 'region');
    part.setAttribute('aria-label', part.tagName === 'PRE' ? 'Code' : 'Table');
  }
}

/** Links to the console lead to that of the server, and where the guide has none to the usual one of this machine. */
async function findConsole() {
  const links = document.querySelectorAll('a.run, a.console');
  const near = new URL(document.querySelector('a.console').href);
  const answer = location.protocol.startsWith('http') ? await fetch(near, { method: 'HEAD' }).catch(() => null) : null;
  if (answer?.ok) return;
  for (const link of links) link.href = usualConsole + new URL(link.href).hash;
}

let opening;
/** Loads the search and its index at the first use. */
function openSearch() {
  opening ??= Promise.all([own.dataset.search, own.dataset.index].map(load)).catch((error) => {
    opening = undefined;
    throw error;
  });
  return opening.then(() => window.haumeaSearch.open());
}

function load(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = address;
    script.addEventListener('load', resolve);
    script.addEventListener('error', () => reject(new Error(`${address} is not there`)));
    document.head.append(script);
  });
}

/** The index comes before or after the code that reads it. */
window.haumeaIndex = (index) => {
  window.haumeaIndex.value = index;
};
/** Addresses of results begin where the guide does. */
window.haumeaIndex.base = new URL('../', own.src).href;
