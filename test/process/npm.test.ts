import { expect } from 'bun:test';
import { temporaryFolder } from '../support/folder.ts';
import { testWith } from '../support/means.ts';
import { startService } from '../support/process.ts';

testWith('npm', ['npm', '--version'])(
  'npm start passes SIGTERM on: the service drains and is gone, and npm with it',
  async () => {
    await using folder = await temporaryFolder();
    await using npm = await startService(folder.path, {}, ['npm', 'start']);
    expect((await fetch(`${npm.url}/livez`)).status).toBe(200);
    npm.signal('SIGTERM');
    await npm.exited;
    expect(npm.stderr()).toContain('"msg":"stopped"');
    await expect(fetch(`${npm.url}/livez`)).rejects.toThrow();
  },
  20_000,
);
