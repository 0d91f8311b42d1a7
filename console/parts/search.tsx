/** The search dialog, which `/` and Ctrl+K open on every page. */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, type Failure } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { searchKindLabels } from '../labels.ts';
import { buildHref } from '../router.ts';
import { quoteName } from '../text.ts';
import { toFailure } from '../use-loaded.ts';
import { Dialog } from './dialog.tsx';
import { FailureNote } from './failure.tsx';
import { Icon } from './icon.tsx';

type Found = ResponseOf<'GET /search'>['results'][number];

const isOpen = signal(false);

function openSearch(): void {
  isOpen.value = true;
}

/** Opens the search on its keyboard shortcuts, unless a dialog is open or `/` is typed into a field. */
export function watchSearchKeys(): void {
  addEventListener('keydown', (event) => {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    const isTyping = target instanceof Element && target.closest('input, textarea, select') !== null;
    const isSlash = key === '/' && !ctrlKey && !metaKey && !altKey && !isTyping;
    const isCtrlK = key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey;
    if ((!isSlash && !isCtrlK) || document.querySelector('dialog[open]') !== null) return;
    event.preventDefault();
    openSearch();
  });
}

/** A button styled like the search field that it opens. */
export function SearchButton() {
  return (
    <button type="button" class="search-button" onClick={openSearch} aria-keyshortcuts="/ Control+K">
      <Icon name="search" />
      <span>Search</span>
      <kbd>/</kbd>
    </button>
  );
}

const typingPauseMs = 150;

interface State {
  /** The search text that produced these results. */
  readonly text: string;
  readonly results: readonly Found[];
  readonly failure?: Failure;
}

function useSearch(given: string): State | undefined {
  const text = given.trim();
  const [state, setState] = useState<State>();
  useEffect(() => {
    if (text === '') return setState(undefined);
    const controller = new AbortController();
    const { signal: aborted } = controller;
    const search = async () => {
      try {
        const { results } = await call('GET /search', { query: { text }, signal: aborted });
        if (!aborted.aborted) setState({ text, results });
      } catch (error) {
        if (!aborted.aborted) setState({ text, results: [], failure: toFailure(error) });
      }
    };
    const timer = setTimeout(search, typingPauseMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text]);
  return state;
}

export function Search() {
  return isOpen.value ? <SearchDialog /> : null;
}

function SearchDialog() {
  const [text, setText] = useState('');
  const found = useSearch(text);
  const list = useRef<HTMLUListElement>(null);
  const close = () => {
    isOpen.value = false;
  };
  /** Moves the focus from the field to the results, and among the results. */
  const move = (event: KeyboardEvent, by: number) => {
    const links = [...(list.current?.querySelectorAll('a') ?? [])];
    const next = links[links.indexOf(document.activeElement as HTMLAnchorElement) + by];
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') move(event, 1);
    if (event.key === 'ArrowUp') move(event, -1);
  };
  const isCurrent = found !== undefined && found.text === text.trim();
  return (
    <Dialog title="Search" onClose={close}>
      <search class="search" onKeyDown={press}>
        <SearchField
          text={text}
          onInput={setText}
          onEnter={() => isCurrent && list.current?.querySelector('a')?.click()}
        />
        {found?.failure && <FailureNote failure={found.failure} />}
        <ul ref={list} aria-label="Results" aria-busy={text.trim() !== '' && !isCurrent}>
          {found?.results.map((one) => (
            <li key={`${one.kind} ${one.id} ${one.name}`}>
              <Result found={one} onChosen={close} />
            </li>
          ))}
        </ul>
        <p class="hint" role="status">
          {isCurrent && !found.failure && found.results.length === 0 && 'No results.'}
        </p>
        <p class="hint" id="search-help">
          Search by id (7, or key:7 for one type: account, key, animal, order, category, webhook, operator),
          part of a name, the last four characters of a key, the beginning of an order reference, or the
          request id of an import or a recent failed request. Only the newest 10,000 animals can be found by
          name.
        </p>
      </search>
    </Dialog>
  );
}

interface SearchFieldProps {
  readonly text: string;
  readonly onInput: (text: string) => void;
  readonly onEnter: () => void;
}

function SearchField({ text, onInput, onEnter }: SearchFieldProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onEnter();
      }}
    >
      <input
        // In a field of type "search", Escape would clear the field first instead of closing the dialog.
        type="text"
        aria-label="Search"
        aria-describedby="search-help"
        placeholder="Name, id, last characters of a key, order reference …"
        autocomplete="off"
        spellcheck={false}
        maxLength={255}
        value={text}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </form>
  );
}

const hrefs: Readonly<Record<Found['kind'], (id: Found['id'], name: Found['name']) => string>> = {
  account: (id) => buildHref(`/accounts/${id}`),
  key: (id) => buildHref(`/keys/${id}`),
  animal: (id) => buildHref('/animals', { id: String(id) }),
  order: (id) => buildHref('/orders', { order: String(id) }),
  category: (id) => buildHref('/animals', { categoryId: String(id) }),
  webhook: (id) => buildHref(`/webhooks/${id}`),
  operator: () => buildHref('/operators'),
  import: () => buildHref('/animals/import'),
  request: (_, requestId) => buildHref('/usage', { requestId: requestId ?? undefined }),
};

function Result({ found, onChosen }: { found: Found; onChosen: () => void }) {
  const { kind, id, name, state, lastFour, accountId } = found;
  const word = kind === 'request' ? searchKindLabels.request : `${searchKindLabels[kind]} ${id}`;
  const more = [
    name !== null && word,
    lastFour !== null && `ends in ${lastFour}`,
    accountId !== null && `account ${accountId}`,
    state,
  ];
  return (
    <a href={hrefs[kind](id, name)} onClick={onChosen}>
      <span class="name">{name === null ? word : quoteName(name)}</span>
      <span class="under">{more.filter(Boolean).join(' · ')}</span>
    </a>
  );
}
