/** A prominent number with its name and a note. */
import type { ComponentChildren } from 'preact';

interface TileProps {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly note: ComponentChildren;
}

export function Tile({ name, value, note }: TileProps) {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        <span>{note}</span>
      </dd>
    </div>
  );
}
