/** Loads data for a page, and reloads it when needed. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Failure } from './api.ts';
import { reloadCount } from './connection.ts';
import { hasSessionEnded } from './session-state.ts';

export interface Loaded<T> {
  /** The latest data. It stays available during a reload. */
  readonly data: T | undefined;
  /** The error of the last attempt; undefined if it succeeded. */
  readonly failure: Failure | undefined;
  /** Whether `data` was loaded for a previous `key`. */
  readonly isStale: boolean;
  readonly reload: () => void;
}

interface Read<T> {
  /** Key that the data was loaded for. */
  readonly key: string;
  readonly data?: T;
  readonly failure?: Failure;
}

interface LoadOptions {
  /** Reload interval while the page is visible. If undefined, there are no periodic reloads. */
  readonly everyMs?: number | undefined;
}

/**
 * Loads data when `key` changes, after a reconnect, when `reload` is called, and every `everyMs` milliseconds
 * if set.
 */
export function useLoaded<T>(key: string, load: () => Promise<T>, { everyMs }: LoadOptions = {}): Loaded<T> {
  const [state, setState] = useState<Read<T>>({ key });
  const [turn, setTurn] = useState(0);
  const reason = `${key} ${turn} ${reloadCount.value}`;
  const latest = useRef({ load, reason });
  latest.current = { load, reason };

  useEffect(() => {
    let isOver = false;
    const isCurrent = () => !isOver && latest.current.reason === reason;
    const read = async () => {
      try {
        const data = await latest.current.load();
        if (isCurrent()) setState({ key, data });
      } catch (error) {
        const failure = toFailure(error);
        if (isCurrent()) setState((before) => ({ ...before, failure }));
      }
    };
    void read();
    const stop = everyMs === undefined ? undefined : repeat(read, everyMs);
    return () => {
      isOver = true;
      stop?.();
    };
  }, [key, reason, everyMs]);

  return {
    data: state.data,
    failure: state.failure,
    isStale: state.data !== undefined && state.key !== key,
    reload: () => setTurn((before) => before + 1),
  };
}

/**
 * Repeats an action at an interval while the page is visible, without overlap. Returns a function that stops
 * it.
 */
function repeat(work: () => Promise<void>, everyMs: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const again = async () => {
    if (!document.hidden && !hasSessionEnded.peek()) await work();
    if (!isOver) timer = setTimeout(again, everyMs);
  };
  timer = setTimeout(again, everyMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure('unexplained', error instanceof Error ? error.message : String(error));
}
