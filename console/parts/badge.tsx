import type { Word } from '../words.ts';

export function Badge({ word: { text, tone } }: { word: Word }) {
  return <span class={`badge ${tone}`}>{text}</span>;
}
