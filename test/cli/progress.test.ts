import { expect, test } from 'bun:test';
import { Progress } from '../../src/cli/progress.ts';

/** Captured output (`shown` returns what was written since the last call), and a clock controlled by the test. */
function stage(): {
  terminal: { write(text: string): void };
  now: () => number;
  clock: { ms: number };
  shown(): string;
} {
  const written: string[] = [];
  const clock = { ms: 5_000 };
  return {
    terminal: { write: (text) => void written.push(text) },
    now: () => clock.ms,
    clock,
    shown: () => written.splice(0).join(''),
  };
}

const eraseLine = '\r\x1b[2K';
const bar = (full: number) => '█'.repeat(full) + '░'.repeat(24 - full);

test('progress is shown immediately and then ten times per second, with rate and time left, and is cleared at the end', () => {
  const { shown, clock, ...place } = stage();
  {
    using progress = new Progress('rows', 4_000, { visible: true, ...place });
    expect(shown()).toBe(`${eraseLine}${bar(0)} 0 %  0 rows`);
    clock.ms += 99;
    progress.update(1_000, 2_000);
    expect(shown()).toBe('');
    clock.ms += 2_000;
    progress.update(2_000, 4_000);
    expect(shown()).toBe(`${eraseLine}${bar(12)} 50 %  4,000 rows  1,000/s  4 s left`);
  }
  expect(shown()).toBe(eraseLine);
});

test.each([
  [80, `${bar(12)} 50 %  5,000,000 animals  1,000,000/s  5 s left`],
  [60, `${'█'.repeat(5)}${'░'.repeat(5)} 50 %  5,000,000 animals  1,000,000/s  5 s left`],
  [50, `${'█'.repeat(5)}${'░'.repeat(5)} 50 %  5,000,000 animals  5 s left`],
  [40, `${'█'.repeat(5)}${'░'.repeat(5)} 50 %  5,000,000 animals`],
  [20, '5,000,000 animals'],
])('a terminal with %i columns shows as much of the progress as fits on one line', (columns, line) => {
  const { shown, clock, terminal, now } = stage();
  using progress = new Progress('animals', 10_000_000, {
    visible: true,
    terminal: { ...terminal, columns },
    now,
  });
  clock.ms += 1_000;
  progress.update(0, 0);
  clock.ms += 5_000;
  shown();
  progress.update(5_000_000, 5_000_000);
  expect(shown()).toBe(`${eraseLine}${line}`);
});

test('the rate excludes progress made by earlier runs', () => {
  const { shown, clock, ...place } = stage();
  using progress = new Progress('rows', 10_000, { visible: true, ...place });
  clock.ms += 1_000;
  progress.update(9_000, 10);
  clock.ms += 1_000;
  progress.update(9_100, 110);
  expect(shown()).toEndWith('110 rows  100/s  9 s left');
});

test('without a known total, the count and the rate are shown, but no progress bar', () => {
  const { shown, clock, ...place } = stage();
  using progress = new Progress('rows', undefined, { visible: true, ...place });
  progress.update(1, 1);
  clock.ms += 1_000;
  progress.update(1_501, 1_501);
  expect(shown()).toBe(`${eraseLine}0 rows${eraseLine}1,501 rows  1,500/s`);
});

test('no progress is written without a terminal', () => {
  const { shown, clock, ...place } = stage();
  {
    using progress = new Progress('rows', 10, { visible: false, ...place });
    clock.ms += 1_000;
    progress.update(5, 5);
  }
  expect(shown()).toBe('');
});
