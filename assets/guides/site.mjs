/**
 * The script of the guides: theme, copy buttons and search. It runs in the head, so that the theme applies before the
 * page is painted. Without it, the page has no controls for these.
 */
const { src, dataset } = document.currentScript;
const root = document.documentElement;

// The reference page stores its theme under the same name.
const themePlace = 'colorMode';

function storedTheme() {
  try {
    return localStorage.getItem(themePlace) ?? 'system';
  } catch {
    return 'system';
  }
}

root.dataset.theme = storedTheme();

function addThemeSwitch() {
  const select = document.querySelector('.theme');
  select.value = root.dataset.theme;
  select.addEventListener('change', () => {
    root.dataset.theme = select.value;
    try {
      localStorage.setItem(themePlace, select.value);
    } catch {
      // If storage is blocked, the theme applies to this page only.
    }
  });
}

const copiedMs = 2_000;

async function copy(code) {
  // The clipboard API exists only on secure origins.
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(code.textContent.trimEnd());
  getSelection().selectAllChildren(code);
  if (!document.execCommand('copy')) throw new Error('The browser did not copy the text.');
}

function addCopyButtons() {
  for (const block of document.querySelectorAll('main .code')) {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Copy' });
    button.addEventListener('click', async () => {
      button.textContent = await copy(block.querySelector('code')).then(
        () => 'Copied',
        () => 'Not copied',
      );
      setTimeout(() => {
        button.textContent = 'Copy';
      }, copiedMs);
    });
    block.append(button);
  }
}

const maxResults = 12;
let index;

/** Loads the index when it is first needed, and again if that failed. */
function load() {
  index ??= fetch(new URL(dataset.search, src))
    .then((response) => (response.ok ? response.json() : Promise.reject(response)))
    .catch(() => {
      index = undefined;
    });
  return index;
}

/** Returns the entries that contain every word of the query, those with the query in the title first. */
function matches(entries, query) {
  const words = query.toLowerCase().split(/\s+/);
  const rank = (title) =>
    [title === query, title.startsWith(query), title.includes(query), true].indexOf(true);
  return entries
    .filter((entry) => words.every((word) => entry.slice(0, 3).join(' ').toLowerCase().includes(word)))
    .sort(([a], [b]) => rank(a.toLowerCase()) - rank(b.toLowerCase()));
}

function resultItem([title, place, sentence, target]) {
  const link = Object.assign(document.createElement('a'), { href: new URL(target, src) });
  for (const [name, text] of Object.entries({ b: title, small: place, span: sentence }))
    link.append(Object.assign(document.createElement(name), { textContent: text }), ' ');
  const item = document.createElement('li');
  item.append(link);
  return item;
}

function addSearch() {
  const search = document.querySelector('.search');
  const [input, panel, status, list] = ['input', '.results', 'p', 'ul'].map((name) =>
    search.querySelector(name),
  );
  let shown = Promise.resolve();
  const show = async () => {
    const entries = await load();
    const query = input.value.trim().toLowerCase();
    const found = query === '' ? [] : matches(entries ?? [], query);
    list.replaceChildren(...found.slice(0, maxResults).map(resultItem));
    const count = found.length > maxResults ? `First ${maxResults} of ${found.length} results` : 'Results';
    status.textContent =
      entries === undefined ? 'Search is unavailable.' : found.length === 0 ? 'No results.' : count;
    panel.hidden = query === '';
  };
  const hide = () => {
    panel.hidden = true;
  };
  input.addEventListener('input', () => {
    shown = show();
  });
  input.addEventListener('focus', ({ relatedTarget }) => {
    if (!search.contains(relatedTarget)) shown = show();
  });
  list.addEventListener('click', hide);
  search.addEventListener('focusout', ({ relatedTarget }) => {
    if (!search.contains(relatedTarget)) hide();
  });
  search.addEventListener('keydown', async (event) => {
    const stops = [input, ...list.querySelectorAll('a')];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      stops.at((stops.indexOf(document.activeElement) + step) % stops.length).focus();
    } else if (event.key === 'Escape') {
      input.focus();
      hide();
    } else if (event.key === 'Enter' && event.target === input) {
      await shown;
      list.querySelector('a')?.click();
    }
  });
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest?.('input, select, textarea') != null;
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}

document.addEventListener('DOMContentLoaded', () => {
  addThemeSwitch();
  addCopyButtons();
  addSearch();
});
