import { expect } from 'bun:test';
import { testWith } from '../support/requirements.ts';
import { powerLosses, recordAnimals } from './power.ts';
import { tracing } from './strace.ts';

const seed = 20_270_115;

testWith(...tracing)(
  'power loss at any system call, from the first start to shutdown, corrupts no file and loses nothing acknowledged',
  async () => {
    const recording = await recordAnimals(20, seed);
    const figures = await powerLosses(recording, { states: 40, seed });
    expect(figures.acknowledged).toBe(20);

    // The test must detect a disk that never syncs, and a disk that loses mapped data.
    const neverSynced = recording.events.filter(({ kind }) => kind !== 'sync');
    const forgotten = recording.events.map((event) =>
      event.kind === 'mapped' ? { ...event, sectors: [] } : event,
    );
    for (const [events, what] of [
      [neverSynced, /seed \d+, call \d+/],
      [forgotten, /0 requests are counted, \d+ were synced/],
    ] as const) {
      const found = await powerLosses({ ...recording, events }, { states: 20, seed }).catch((error) => error);
      expect(String(found)).toMatch(what);
    }
  },
);
