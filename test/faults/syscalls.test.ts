import { expect, setDefaultTimeout } from 'bun:test';
import { testWith } from '../support/requirements.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { tracing } from './strace.ts';
import { syscallFaults } from './syscalls.ts';

setDefaultTimeout(testTimeoutMs);

testWith(...tracing)(
  'EIO, ENOSPC or kill -9 at a system call of a creation: no answer is false, no file damaged, nothing lost',
  async () => {
    const figures = await syscallFaults({ every: 6, checkpoints: false });
    expect(figures.faults).toBeGreaterThan(10);
    expect(figures.refused).toBeGreaterThan(4);
    expect(figures.unanswered).toBeGreaterThan(2);
  },
);
