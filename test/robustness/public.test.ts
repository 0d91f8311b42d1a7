import { expect } from 'bun:test';
import { crowds, publicCrowds } from '../stress/public.ts';
import { testWith } from '../support/requirements.ts';

testWith({ name: '/proc', package: 'linux-image', optional: true }, ['test', '-e', '/proc/self/status'])(
  'many slow readers of public pages need little memory, and other callers are served',
  async () => {
    // 20 connections for each path; the rates and the exact bound are for the stress test, on a quiet machine.
    const { peakMb, shares } = await publicCrowds({ rounds: 1, progress: () => undefined }, 20);
    expect([...shares.keys()]).toEqual([...crowds]);
    // One copy of the script for each silent client would need 174 MB more than the service itself.
    expect(peakMb).toBeLessThan(200);
  },
);
