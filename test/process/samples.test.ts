/** Runs the sample programs in the guides as a reader would. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { startAppForFile, startTestApp, type TestApp } from '../support/app.ts';
import { clientOf } from '../support/client.ts';
import { compileStrictly, installClient } from '../support/client-package.ts';
import { temporaryFolder } from '../support/folder.ts';
import { finished, root, start } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';

const guide = (name: string) => Bun.file(join(root, 'docs/guides', `${name}.md`)).text();

/** The code block after a marker such as `<!-- sample: curl -->`. */
function blockBelow(marker: string, markdown: string): string {
  const start = markdown.indexOf(`<!-- ${marker} -->\n`);
  const block = /^<!--.*-->\n```\w+\n([\s\S]*?)^```$/m.exec(markdown.slice(start));
  if (start === -1 || block?.[1] === undefined) throw new Error(`There is no ${marker} in the guide.`);
  return block[1];
}

const app = await startAppForFile();

/** A project in which the TypeScript client is installed. */
const project = await temporaryFolder();
beforeAll(() => installClient(project.path));
afterAll(() => project[Symbol.asyncDispose]());

/** Runs a program in a new folder with an address and a key. Returns the program's output. */
async function outputOf(
  file: string,
  text: string,
  command: readonly string[],
  { url, key }: Pick<TestApp, 'url' | 'key'> = app,
): Promise<string> {
  await using folder = await temporaryFolder();
  await Bun.write(join(folder.path, file), text);
  await symlink(join(project.path, 'node_modules'), join(folder.path, 'node_modules'));
  const environment = {
    HOME: folder.path,
    API: `${url}/v1`,
    KEY: key,
    GOCACHE: join(folder.path, 'go-cache'),
  };
  const { stdout, ...ended } = await finished([...command, file], { cwd: folder.path, environment });
  expect(ended).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

const curl = { name: 'curl', package: 'curl' } as const;
const python = { name: 'Python 3', package: 'python3', optional: true } as const;
const go = { name: 'Go', package: 'golang-go', optional: true } as const;

const testPython = testWith(python, ['python3', '--version']);

const samples = [
  { name: 'curl', file: 'first.sh', command: ['sh'], testIt: testWith(curl, ['curl', '--version']) },
  { name: 'client', file: 'first.ts', command: [process.execPath], testIt: test },
  { name: 'python', file: 'first.py', command: ['python3'], testIt: testPython },
  { name: 'go', file: 'first.go', command: ['go', 'run'], testIt: testWith(go, ['go', 'version']) },
] as const;

for (const { name, file, command, testIt } of samples) {
  testIt(`the quickstart's ${name} sample adds an animal and lists it`, async () => {
    const client = clientOf(app.url, app.key);
    const count = async () => (JSON.parse((await client.get('/pets?limit=100')).text) as unknown[]).length;
    const before = await count();
    const output = await outputOf(file, blockBelow(`sample: ${name}`, await guide('quickstart')), command);
    expect(await count()).toBe(before + 1);
    // The animal is printed once when added and once in the list. The client sample prints only the list.
    const least = name === 'client' ? 1 : 2;
    expect(output.match(/Ozzy/g)?.length).toBeGreaterThanOrEqual(least);
  });
}

const typescript = [process.execPath];

test('the pagination code sample counts every animal across multiple pages', async () => {
  await using own = await startTestApp();
  const client = clientOf(own.url, own.key);
  for (let n = 0; n < 205; n++) await client.add(`Ozzy ${n}`);
  const text = blockBelow('sample: pages', await guide('pagination'));
  expect(await outputOf('pages.ts', text, typescript, own)).toBe('205\n');
});

/** Runs a sample that never ends, while its connection breaks. Returns the first lines of its output. */
async function streamed(name: string, command: readonly string[]): Promise<string[]> {
  await using own = await startTestApp();
  await using proxy = await tcpProxy(own.url);
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'stream');
  await Bun.write(file, blockBelow(`sample: ${name}`, await guide('events')));
  const environment = { API: new URL('/v1', proxy.url).href, KEY: own.key };
  await using program = start([...command, file], { cwd: folder.path, environment });
  const client = clientOf(own.url, own.key);
  for (let id = 1; id <= 3; id++) {
    if (id === 2) proxy.drop();
    // JSON does not escape line separators, and event streams do not split lines at them.
    await client.add('Oz\u2028zy\u2029');
    await program.said(`${id} pet.created\n`);
  }
  return program.stdout().trimEnd().split('\n');
}

const eachOnce = ['1 pet.created', '2 pet.created', '3 pet.created'];

test('the stream sample for fetch prints each event once, even if its connection breaks', async () => {
  expect(await streamed('stream', [process.execPath, 'run'])).toEqual(eachOnce);
});

testWith(python, ['python3', '--version'])(
  'the stream sample for Python prints each event once, even if its connection breaks',
  async () => {
    expect(await streamed('stream-python', ['python3'])).toEqual(eachOnce);
  },
);

test('the retry code sample adds only one animal, even if the request is sent repeatedly', async () => {
  await using own = await startTestApp();
  const text = blockBelow('sample: retries', await guide('errors-and-retries'));
  expect(await outputOf('retries.ts', text, typescript, own)).toBe('201 201 true\ntrue\n');
  expect(JSON.parse((await clientOf(own.url, own.key).get('/pets')).text)).toHaveLength(1);
});

/** Compiles and runs a program in the project in which the client is installed. Returns its output. */
async function outputInProject(name: string, text: string): Promise<string> {
  const file = join(project.path, `${name}.mts`);
  await Bun.write(file, text);
  await compileStrictly(file);
  const environment = { ANIMAL_STORE_URL: app.url, ANIMAL_STORE_KEY: app.key };
  const { stdout, ...ended } = await finished([process.execPath, file], { environment });
  expect(ended).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

test('the sample that keeps a copy applies one event at a time, in order', async () => {
  const client = clientOf(app.url, app.key);
  const { headers } = await client.get('/events?order=desc&limit=1');
  for (let id = 1; id <= 3; id++) await client.add('Ozzy');
  const before = `
    import { AnimalStore, type Event } from '@animal-store/client';
    const store = new AnimalStore({ key: process.env.ANIMAL_STORE_KEY, url: process.env.ANIMAL_STORE_URL });
    const after = BigInt('${headers.get('x-events-position')}');
    let applied = 0n;
    async function apply(event: Event): Promise<void> {
      console.log('begin', event.id - after);
      await store.pets.find(1);
      console.log('end', event.id - after);
      if (++applied === 3n) process.exit();
    }
  `;
  const text = before + blockBelow('sample: copy', await guide('events'));
  const lines = [1, 2, 3].map((id) => `begin ${id}n\nend ${id}n\n`);
  expect(await outputInProject('copy', text)).toBe(lines.join(''));
});

test("the webhook guide's TypeScript sample accepts only correctly signed deliveries", async () => {
  const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  const body = '{"id":7,"type":"order.placed","data":{"petId":5}}';
  const at = new Date();
  const headers = {
    'webhook-id': 'evt_7',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('evt_7', at, body),
  };
  const after = `
    process.env.WEBHOOK_SECRET = ${JSON.stringify(secret)};
    for (const body of [${JSON.stringify(body)}, '{}']) {
      const init = { method: 'POST', headers: ${JSON.stringify(headers)}, body };
      console.log((await receive(new Request('https://shop.example/webhooks', init))).status);
    }
  `;
  const text = blockBelow('sample: receive', await guide('webhooks')) + after;
  expect(await outputInProject('receive', text)).toBe('5n\n204\n400\n');
});

test('the openapi-fetch recipe is the program that the tests compile and run', async () => {
  const program = await Bun.file(join(root, 'test/generators/programs/openapi-fetch.ts')).text();
  expect(blockBelow('program: openapi-fetch', await guide('generated-clients'))).toBe(program);
});

testPython("the webhook guide's Python sample accepts only recent, correctly signed deliveries", async () => {
  const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  const body = '{"id":7,"type":"order.placed"}';
  const now = new Date();
  const headersOf = (sentAt: Date, signed: string) => ({
    'webhook-id': 'evt_7',
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
    'webhook-signature': `v1,AAAA ${new Webhook(secret).sign('evt_7', sentAt, signed)}`,
  });
  const cases = [
    headersOf(now, body),
    headersOf(now, `${body} `),
    headersOf(new Date(now.getTime() - 600_000), body),
    { ...headersOf(now, body), 'webhook-signature': 'v1,\u00e9' },
    {},
  ];
  const calls = cases.map(
    (headers) =>
      `print(is_authentic(${JSON.stringify(secret)}, ${JSON.stringify(headers)}, b${JSON.stringify(body)}))`,
  );
  const program = [blockBelow('sample: verify', await guide('webhooks')), ...calls].join('\n');
  expect(await outputOf('verify.py', program, ['python3'])).toBe('True\nFalse\nFalse\nFalse\nFalse\n');
});
