import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { newWorkplace } from '../support/cli.ts';
import { temporaryFolder } from '../support/folder.ts';
import { root, start } from '../support/process.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Files that the first stage of the image copies from the project. */
const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) =>
  paths.split(' '),
);

test('the Dockerfile copies only files that exist and are not excluded by .dockerignore', () => {
  const letIn = read('.dockerignore').matchAll(/^!(\S+)$/gm);
  expect(copied.toSorted()).toEqual([...letIn].map(([, path = '']) => path).toSorted());
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('the image copies all files that its build needs, and the built file runs', async () => {
  await using folder = await temporaryFolder();
  for (const path of copied) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true });
    await cp(join(root, path), join(folder.path, path), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(folder.path, 'node_modules'));
  const build = /^RUN node_modules\/\.bin\/bun (\S+)/m.exec(read('Dockerfile'))?.[1] ?? '';
  await using building = start([process.execPath, build], { cwd: folder.path });
  expect([await building.exited, building.stderr()]).toEqual([0, '']);
  await using running = start([join(folder.path, 'dist/animal-store'), '--version'], { cwd: folder.path });
  expect([await running.exited, running.stdout()]).toEqual([0, `${packageJson.version}\n`]);
});

test('compose.yaml shows a command that creates an API key, which the program accepts', async () => {
  const [, line = ''] =
    /docker compose exec store-1 animal-store (keys create .*)$/m.exec(read('compose.yaml')) ?? [];
  await using place = await newWorkplace();
  await place.json('accounts', 'create', '--name', 'default', '--plan', 'free');
  expect(await place.output(...line.split(' '))).toContain('ask_');
});
