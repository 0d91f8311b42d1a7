/**
 * The script of the guides: theme, copy buttons, the current section and search. It runs in the head, so that the theme
 * applies before the page is painted. Without it, the page has no controls for these.
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
let searching;

/** Loads the index and the code that searches it when they are first needed, and again if that failed. */
function load() {
  searching ??= Promise.all([import(new URL(dataset.search, src)), fetchIndex()])
    .then(([{ createSearch }, entries]) => createSearch(entries))
    .catch(() => {
      searching = undefined;
    });
  return searching;
}

async function fetchIndex() {
  const response = await fetch(new URL(dataset.index, src));
  return response.ok ? response.json() : Promise.reject(response);
}

function resultItem({ title, place, excerpt, target }) {
  const link = Object.assign(document.createElement('a'), { href: new URL(target, src) });
  const element = (name, ...content) => {
    const created = document.createElement(name);
    created.append(...content);
    return created;
  };
  const parts = excerpt.map(({ text, isMatch }) => (isMatch ? element('mark', text) : text));
  link.append(element('b', title), ' ', element('small', place), ' ', element('span', ...parts));
  return element('li', link);
}

function addSearch() {
  const search = document.querySelector('.search');
  const [input, panel, status, list] = ['input', '.results', 'p', 'ul'].map((name) =>
    search.querySelector(name),
  );
  let shown = Promise.resolve();
  const show = async () => {
    const find = await load();
    const query = input.value.trim();
    const { results, count } = find?.(query, maxResults) ?? { results: [], count: 0 };
    list.replaceChildren(...results.map(resultItem));
    const heading = count > maxResults ? `First ${maxResults} of ${count} results` : 'Results';
    status.textContent =
      find === undefined ? 'Search is unavailable.' : count === 0 ? 'No results.' : heading;
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

/**
 * Marks the section at the top of the window in the lists of sections. If several are there, or the page ends before a
 * section can reach the top, the one that the address refers to.
 */
function markSection() {
  const headings = [...document.querySelectorAll('main h2')];
  const topEnd = innerHeight / 3;
  const isAtEnd = scrollY + innerHeight > root.scrollHeight - 2;
  const isTarget = (heading) => {
    const { top } = heading.getBoundingClientRect();
    return heading.matches(':target') && top >= 0 && top < (isAtEnd ? innerHeight : topEnd);
  };
  const current =
    headings.find(isTarget) ?? headings.findLast((heading) => heading.getBoundingClientRect().top < topEnd);
  for (const link of document.querySelectorAll('.contents a')) {
    if (link.hash === `#${current?.id}`) link.setAttribute('aria-current', 'location');
    else link.removeAttribute('aria-current');
  }
}

function addSectionMark() {
  markSection();
  for (const event of ['scroll', 'hashchange', 'resize'])
    addEventListener(event, markSection, { passive: true });
}

document.addEventListener('DOMContentLoaded', () => {
  addSectionMark();
  addThemeSwitch();
  addCopyButtons();
  addSearch();
});
