/** What a page shows of the service: read when it is opened, and again when there is reason to. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Failure } from './api.ts';
import { timesHealed } from './connection.ts';
import { hasEnded } from './session-state.ts';

export interface Loaded<T> {
  /** What was read last; it stays while it is read again. */
  readonly data: T | undefined;
  /** Why it could not be read. */
  readonly failure: Failure | undefined;
  /** Whether the data is of another key, until that of this one has come. */
  readonly isStale: boolean;
  readonly reload: () => void;
}

interface Read<T> {
  /** That of the data. */
  readonly key: string;
  readonly data?: T;
  readonly failure?: Failure;
}

export interface LoadOptions {
  /** Whether it is read again after a while, as long as the page can be seen. */
  readonly everyMs?: number | undefined;
}

/** Reads when `key` changes, when the connection is back, when `reload` is called and, if wanted, every so often. */
export function useLoaded<T>(key: string, load: () => Promise<T>, { everyMs }: LoadOptions = {}): Loaded<T> {
  const [state, setState] = useState<Read<T>>({ key });
  const [turn, setTurn] = useState(0);
  const reason = `${key} ${turn} ${timesHealed.value}`;
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
        const failure = asFailure(error);
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

/** Does something every so often, never twice at once, and not while nobody looks; returns how to stop it. */
function repeat(work: () => Promise<void>, everyMs: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const again = async () => {
    if (!document.hidden && !hasEnded.peek()) await work();
    if (!isOver) timer = setTimeout(again, everyMs);
  };
  timer = setTimeout(again, everyMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure('unexplained', error instanceof Error ? error.message : String(error));
}
