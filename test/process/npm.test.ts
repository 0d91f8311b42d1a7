import { expect } from 'bun:test';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { temporaryFolder } from '../support/folder.ts';
import { root, start, startService } from '../support/process.ts';
import { childrenOf, isRunning } from '../support/process-tree.ts';
import { testWith } from '../support/requirements.ts';
import { type DoubledStop, doubledStops, killGroup, stopNpm } from './npm-stop.ts';

const npmTest = testWith({ name: 'npm and setsid', package: 'npm util-linux' }, [
  'setsid',
  'npm',
  '--version',
]);

npmTest('npm start forwards SIGTERM, so that the service drains and npm exits', async () => {
  await using folder = await temporaryFolder();
  // Runs in a separate process group, so that a leftover service can be killed after the test.
  await using npm = await startService(folder.path, {}, ['setsid', 'npm', 'start']);
  using _group = { [Symbol.dispose]: () => killGroup(npm.pid) };
  const [service = 0] = childrenOf(npm.pid);
  npm.signal('SIGTERM');
  await npm.exited;
  expect(npm.stderr()).toContain('"msg":"stopped"');
  expect(isRunning(service)).toBe(false);
});

npmTest('npx runs the commands of this folder', async () => {
  await using home = await temporaryFolder();
  await using npx = start(['npx', 'animal-store', '--version'], { environment: { HOME: home.path } });
  expect([await npx.exited, npx.stdout()]).toEqual([0, `${packageJson.version}\n`]);
});

for (const how of Object.keys(doubledStops) as DoubledStop[]) {
  npmTest(`${how} counts as one signal, and the service drains and stops cleanly`, () => stopNpm(how));
}

testWith({ name: 'env -S', package: 'coreutils' }, ['env', '-S', 'true'])(
  'the command ignores a bunfig.toml in the working directory',
  async () => {
    await using folder = await temporaryFolder();
    await Bun.write(join(folder.path, 'bunfig.toml'), 'preload = ["./stranger.ts"]\n');
    await Bun.write(join(folder.path, 'stranger.ts'), "console.log('stranger');\n");
    const environment = { PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}` };
    await using command = start([join(root, 'src/main.ts'), '--version'], { environment, cwd: folder.path });
    expect(await command.exited).toBe(0);
    expect(command.stdout()).toMatch(/^\d+\.\d+\.\d+\n$/);
  },
);
