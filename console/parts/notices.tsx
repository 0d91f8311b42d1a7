/**
 * Notifications that confirm actions or report errors. They disappear automatically, and screen readers
 * announce them.
 */
import { signal } from '@preact/signals';
import type { Tone } from '../labels.ts';
import { session } from '../session-state.ts';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
  /** The operator whose action this reports. No one else may see it, for example after the operator signs out. */
  readonly operator: string | undefined;
}

const shownForMs = 6_000;
const most = 4;
const notices = signal<readonly Notice[]>([]);
let lastId = 0;

export function notify(text: string, tone: Tone = 'good'): void {
  lastId += 1;
  const id = lastId;
  const operator = session.peek()?.operator;
  notices.value = [...notices.value.slice(1 - most), { id, text, tone, operator }];
  setTimeout(() => {
    notices.value = notices.value.filter((notice) => notice.id !== id);
  }, shownForMs);
}

export function Notices() {
  const shown = notices.value.filter(({ operator }) => operator === session.value?.operator);
  return (
    <div class="notices" role="status">
      {shown.map(({ id, text, tone }) => (
        <p key={id} class={`notice ${tone}`}>
          {text}
        </p>
      ))}
    </div>
  );
}
