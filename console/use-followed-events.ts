/** Follows the newest events as they are recorded. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { callPage, type Failure } from './api.ts';
import { reloadCount } from './connection.ts';
import type { StoredEvent } from './contract.ts';
import { hasSessionEnded } from './session-state.ts';
import { toFailure } from './use-loaded.ts';

/** Maximum number of events on the page. Older events are removed. */
const maxShownEvents = 200;
const perPage = 50;
/** Time after which a long poll returns an empty page. */
const waitSeconds = 25;
const retrySeconds = 5;

interface FollowedEvents {
  /** Events, newest first; undefined until loaded. */
  readonly events: readonly StoredEvent[] | undefined;
  /** Error of the last read; undefined if it succeeded. */
  readonly failure: Failure | undefined;
}

interface State extends FollowedEvents {
  readonly selector: string;
}

/**
 * Follows the events that match the selector, or all events if it is empty. Loads missed events after a
 * pause.
 */
export function useFollowedEvents(selector: string, isPaused: boolean): FollowedEvents {
  const [state, setState] = useState<State>();
  /** Id of the last event read; the next page begins after it. */
  const position = useRef({ selector, after: undefined as string | undefined });
  const healed = reloadCount.value;
  useEffect(() => {
    if (position.current.selector !== selector) position.current = { selector, after: undefined };
    if (isPaused && position.current.after !== undefined) return;
    const controller = new AbortController();
    const { signal } = controller;
    const read = async (wait: number) => {
      const { after } = position.current;
      const { items, next } = await callPage('GET /events', {
        query: toQuery(selector, after, wait),
        signal,
      });
      if (signal.aborted) return;
      position.current = { selector, after: next };
      setState((before) => {
        const older = after === undefined ? [] : (before?.events ?? []);
        const newer = after === undefined ? items : items.toReversed();
        return { selector, events: [...newer, ...older].slice(0, maxShownEvents), failure: undefined };
      });
    };
    const onFailure = (failure: Failure) => {
      // Events after the last shown event are no longer retained, so the list restarts with the newest events.
      if (failure.code === 'events_expired') position.current = { selector, after: undefined };
      else setState((before) => ({ selector, events: before?.events, failure }));
    };
    void follow(read, onFailure, signal, isPaused);
    return () => controller.abort();
  }, [selector, isPaused, healed]);
  const isCurrent = state?.selector === selector;
  return { events: isCurrent ? state.events : undefined, failure: isCurrent ? state.failure : undefined };
}

function toQuery(selector: string, after: string | undefined, wait: number) {
  const filter = { type: selector || undefined, limit: String(perPage) };
  if (after === undefined) return { ...filter, order: 'desc' as const };
  return { ...filter, after, wait: String(wait) };
}

/**
 * Reads repeatedly while the page is visible. Stops when the signal aborts or the connection is lost. After a
 * reconnect, the caller starts it again.
 */
async function follow(
  read: (waitSeconds: number) => Promise<void>,
  onFailure: (failure: Failure) => void,
  signal: AbortSignal,
  isOnce: boolean,
): Promise<void> {
  let hasFailed = false;
  while (!signal.aborted) {
    try {
      await untilVisible(signal);
      await read(hasFailed ? 0 : waitSeconds);
      if (isOnce) return;
      hasFailed = false;
    } catch (error) {
      const failure = toFailure(error);
      if (signal.aborted || hasSessionEnded.peek() || failure.code === 'connection_lost') return;
      onFailure(failure);
      hasFailed = true;
      if (failure.code === 'events_expired') continue;
      if (failure.status < 500) return;
      await pause(failure.retryAfterSeconds ?? retrySeconds, signal);
    }
  }
}

/** Resolves when the page becomes visible or the signal aborts. */
function untilVisible(signal: AbortSignal): Promise<unknown> | undefined {
  if (!document.hidden) return undefined;
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', resolve, { once: true, signal });
    signal.addEventListener('abort', resolve, { once: true });
  });
}

function pause(seconds: number, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    setTimeout(resolve, seconds * 1_000);
    signal.addEventListener('abort', resolve, { once: true });
  });
}
