import { expect } from 'bun:test';
import { filtering } from './filtering.ts';
import { stopUnderReconnecting } from './reconnecting.ts';
import { embeddedTests } from './worker-stores.ts';

const embeddedTest = embeddedTests(filtering);

embeddedTest(
  'a connection that exists when the listeners of the workers close is answered',
  async (stores) => {
    const { refused, failures, exitCode } = await stopUnderReconnecting(8, 5, stores.beginDrained);
    expect(failures).toEqual([]);
    expect([refused, exitCode]).toEqual([8, 0]);
  },
);
