/** List filters, stored in the address so that a filtered list can be bookmarked and shared. */
import { type ComponentChildren, toChildArray } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import type { Label } from '../labels.ts';
import { currentRoute, goTo } from '../router.ts';

/** Sets a filter, and returns to the first page. */
export function setFilter(name: string, value: string): void {
  const { path, query } = currentRoute.value;
  const { cursor: _, ...others } = Object.fromEntries(query);
  goTo(`/${path.join('/')}`, { query: { ...others, [name]: value }, replace: true });
}

export function getFilter(name: string): string {
  return currentRoute.value.query.get(name) ?? '';
}

export function Filters({ children }: { children: ComponentChildren }) {
  const { length } = toChildArray(children);
  const columns = { '--all': length, '--half': length > 4 ? Math.ceil(length / 2) : length };
  return (
    <search class="filters" style={columns}>
      {children}
    </search>
  );
}

const typingPauseMs = 250;

interface TextFilterProps {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly kind?: 'text' | 'digits' | 'date';
  /** Suggestions offered while typing. */
  readonly options?: readonly string[];
}

/** A text filter. The list updates when the operator stops typing. */
export function TextFilter({ name, label, placeholder, kind = 'text', options }: TextFilterProps) {
  const listId = useId();
  const current = getFilter(name);
  const [text, setText] = useState(current);
  useEffect(() => setText(current), [current]);
  useEffect(() => {
    const value = kind === 'digits' ? text.replace(/(?!^-)\D/g, '') : text.trim();
    if (value === getFilter(name)) return;
    const timer = setTimeout(() => setFilter(name, value), typingPauseMs);
    return () => clearTimeout(timer);
  }, [text, name, kind]);
  return (
    <label class="filter">
      <span>{label}</span>
      <input
        type={(kind === 'date' ? 'date' : 'search') as 'search'}
        inputMode={kind === 'digits' ? 'numeric' : 'text'}
        value={text}
        placeholder={placeholder}
        list={options && listId}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      {options && (
        <datalist id={listId}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </label>
  );
}

interface ChoiceFilterProps {
  readonly name: string;
  readonly label: string;
  readonly all: string;
  /** The label for each value. */
  readonly words: Readonly<Record<string, Pick<Label, 'text'>>>;
}

export function ChoiceFilter({ name, label, all, words }: ChoiceFilterProps) {
  return (
    <label class="filter">
      <span>{label}</span>
      <select value={getFilter(name)} onChange={({ currentTarget }) => setFilter(name, currentTarget.value)}>
        <option value="">{all}</option>
        {Object.entries(words).map(([value, { text }]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
