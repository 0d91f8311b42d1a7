import { expect } from 'bun:test';
import { crowds, publicCrowds } from '../stress/public.ts';
import { testWith } from '../support/requirements.ts';

testWith({ name: '/proc', package: 'linux-image', optional: true }, ['test', '-e', '/proc/self/status'])(
  'many slow readers of public pages need little memory, and other clients are still served',
  async () => {
    // Opens 20 connections per path. The stress test checks rates and a lower memory limit, on an idle machine.
    const { peakMb, shares } = await publicCrowds({ rounds: 1, progress: () => undefined }, 20);
    expect([...shares.keys()]).toEqual([...crowds]);
    // If each client that does not read had a separate copy of the script, the service would need 174 MB more.
    expect(peakMb).toBeLessThan(200);
  },
);
