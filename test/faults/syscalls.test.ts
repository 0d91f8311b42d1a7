import { expect } from 'bun:test';
import { testWith } from '../support/requirements.ts';
import { tracing } from './strace.ts';
import { syscallFaults } from './syscalls.ts';

testWith(...tracing)(
  'EIO or ENOSPC at a system call of a creation makes no answer false, damages no file and loses nothing',
  async () => {
    const { faults, refused } = await syscallFaults({ every: 6, checkpoints: false });
    // Each creation has one sync. A lasting failure of it, EIO or ENOSPC, refuses the creation. A single failure may hit the
    // usage records instead, which are written every ten seconds.
    expect(faults).toBeGreaterThanOrEqual(4);
    expect(refused).toBeGreaterThanOrEqual(2);
  },
);
