import { expect } from 'bun:test';
import { crowds, publicCrowds } from '../stress/public.ts';
import { testWith } from '../support/requirements.ts';

testWith({ name: '/proc', package: 'linux-image', optional: true }, ['test', '-e', '/proc/self/status'])(
  'crowds that read what is public slowly or not at all take no memory to speak of, and callers are served beside them',
  async () => {
    // 20 connections for each path; the rates and the exact bound are for the stress test, on a quiet machine.
    const { peakMb, shares } = await publicCrowds({ rounds: 1, progress: () => undefined }, 20);
    expect([...shares.keys()]).toEqual([...crowds]);
    // A copy of the script for each that reads nothing would take 174 MB more than the service itself.
    expect(peakMb).toBeLessThan(200);
  },
);
