import { expect } from 'bun:test';
import { testWith } from '../support/requirements.ts';
import { tracing } from './strace.ts';
import { syscallFaults } from './syscalls.ts';

testWith(...tracing)(
  'EIO or ENOSPC at a system call of a create request causes no wrong response, corrupts no file and loses nothing',
  async () => {
    const { faults, refused } = await syscallFaults({ every: 6, checkpoints: false });
    // Each create request causes one sync, and is rejected if the sync keeps failing with EIO or ENOSPC. A single
    // failure may instead affect the usage records, which are written every ten seconds.
    expect(faults).toBeGreaterThanOrEqual(4);
    expect(refused).toBeGreaterThanOrEqual(2);
  },
);
