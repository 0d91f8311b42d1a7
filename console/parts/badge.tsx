import type { Label } from '../labels.ts';

export function Badge({ word: { text, tone } }: { word: Label }) {
  return <span class={`badge ${tone}`}>{text}</span>;
}
