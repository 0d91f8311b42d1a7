import { expect } from 'bun:test';
import { testWith } from '../support/requirements.ts';
import { tracing } from './strace.ts';
import { syscallFaults } from './syscalls.ts';

testWith(...tracing)(
  'EIO or ENOSPC at a system call of a creation causes no wrong response, corrupts no file and loses nothing',
  async () => {
    const { faults, refused } = await syscallFaults({ every: 6, checkpoints: false });
    // Each creation causes one sync. If the sync fails permanently with EIO or ENOSPC, the creation is rejected. A
    // single failure may instead affect the usage records, which are written every ten seconds.
    expect(faults).toBeGreaterThanOrEqual(4);
    expect(refused).toBeGreaterThanOrEqual(2);
  },
);
