/**
 * Notifications that confirm actions or report errors. They disappear automatically, and screen readers
 * announce them.
 */
import { signal } from '@preact/signals';
import type { Tone } from '../words.ts';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
}

const shownForMs = 6_000;
const most = 4;
const notices = signal<readonly Notice[]>([]);
let lastId = 0;

export function notify(text: string, tone: Tone = 'good'): void {
  lastId += 1;
  const id = lastId;
  notices.value = [...notices.value.slice(1 - most), { id, text, tone }];
  setTimeout(() => {
    notices.value = notices.value.filter((notice) => notice.id !== id);
  }, shownForMs);
}

export function Notices() {
  return (
    <div class="notices" role="status">
      {notices.value.map(({ id, text, tone }) => (
        <p key={id} class={`notice ${tone}`}>
          {text}
        </p>
      ))}
    </div>
  );
}
