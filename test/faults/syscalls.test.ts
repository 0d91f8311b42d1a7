import { expect } from 'bun:test';
import { testWith } from '../support/requirements.ts';
import { tracing } from './strace.ts';
import { syscallFaults } from './syscalls.ts';

testWith(...tracing)(
  'EIO, ENOSPC or kill -9 at a system call of a creation makes no answer false, damages no file and loses nothing',
  async () => {
    const { faults, refused, unanswered } = await syscallFaults({ every: 6, checkpoints: false });
    // Each creation has one sync. A lasting failure of it, EIO or ENOSPC, refuses the creation, and a kill at it leaves the
    // creation unanswered. A single failure may hit the usage records instead, which are written every ten seconds.
    expect(faults).toBeGreaterThanOrEqual(5);
    expect(refused).toBeGreaterThanOrEqual(2);
    expect(unanswered).toBeGreaterThanOrEqual(1);
  },
);
