import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { ApiError } from '../../src/contract/api-error.ts';
import { spoolToFile } from '../../src/operations/files/spooled-file.ts';
import { addOperator, adminUrl, callAdmin } from '../support/admin.ts';
import { openDesk } from '../support/admin-answers.ts';
import { lock, openDataFile } from '../support/lock.ts';
import { rejectionOf } from '../support/rejection.ts';
import { until } from '../support/wait.ts';

interface Report {
  readonly state: string;
  readonly added: number;
  readonly rejected: number;
  readonly rejects: readonly { readonly line: number; readonly text: string; readonly reason: string }[];
  readonly rejectsFile: string;
}

const desk = await openDesk();
afterAll(() => desk[Symbol.asyncDispose]());

const send = (file: string, query = '', type = 'text/csv') =>
  desk.ask('POST', `/pets/import${query}`, file, { headers: { 'Content-Type': type } });
const imported = async (...args: Parameters<typeof send>) => {
  const { status, text, body } = await send(...args);
  if (status !== 200) throw new Error(`The import was answered ${status}: ${text}`);
  return body as Report;
};
const animals = async () => {
  const {
    available = 0,
    pending = 0,
    sold = 0,
  } = await desk.done<Record<string, number>>('GET', '/inventory');
  return available + pending + sold;
};
const header = 'name,categoryId,status\n';
const rows = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => `${name} ${index},1,sold\n`).join('');

test('every row is either imported once or reported with its line and reason', async () => {
  const before = await animals();
  const file = `${header}${rows(2_500, 'once')}bad,x,sold\n"a\nb",1,sold\n,1,sold\n`;
  const { rejects, rejectsFile: _, ...counts } = await imported(file);
  expect(counts).toEqual({ state: 'imported', added: 2_500, rejected: 3 });
  expect(rejects.map(({ line, text }) => [line, text])).toEqual([
    [2_502, 'bad,x,sold'],
    [2_503, '"a\nb",1,sold'],
    [2_505, ',1,sold'],
  ]);
  const about = ['categoryId must be an integer', 'control characters', 'name must not be empty'];
  for (const [index, { reason }] of rejects.entries()) expect(reason).toContain(about[index] ?? '');
  expect(await animals()).toBe(before + 2_500);
});

test('importing the same file again adds nothing and reports the earlier result', async () => {
  const file = `${header}${rows(10, 'twice')}bad,x,sold\n`;
  const { state, ...report } = await imported(file);
  expect([state, report.rejects.length]).toEqual(['imported', 1]);
  const before = await animals();
  expect(await imported(file)).toEqual({ state: 'already_imported', ...report });
  expect(await animals()).toBe(before);
});

test.each([
  ['commas', `${header}bad,x,sold\n${rows(1_200, 'resumed')}`, 2],
  [
    'a sep= line, semicolons and CRLF',
    `sep=;\n${header}bad,x,sold\n${rows(1_200, 'again')}`.replaceAll(',', ';').replaceAll('\n', '\r\n'),
    3,
  ],
])(
  'an interrupted import with %s resumes where it stopped, and reports the total',
  async (_form, file, badLine) => {
    const source = new Bun.CryptoHasher('sha256').update(file).digest('hex');
    const progress = { lastLine: badLine + 1, added: 1, rejected: 1, finished: false };
    const pets = [{ name: 'resumed 0', categoryId: 1n, status: 'sold' as const }];
    await desk.app.operator.storage.write('commitImport', {
      now: 0,
      pets,
      run: { source, ...progress },
      fromLine: 0,
    });
    const before = await animals();
    const { rejects, rejectsFile: _, ...counts } = await imported(file);
    expect(counts).toEqual({ state: 'imported', added: 1_200, rejected: 1 });
    expect(rejects.map(({ line }) => line)).toEqual([badLine]);
    expect(await animals()).toBe(before + 1_199);
  },
);

test('an NDJSON file that contains ids is imported only with newIds', async () => {
  const file = '{"id":7,"name":"A","categoryId":1}\n{"id":8,"name":"B","categoryId":1}\n';
  const type = 'application/x-ndjson';
  expect(await imported(file, '?format=ndjson', type)).toMatchObject({ added: 0, rejected: 2 });
  const withNewIds = await imported(`${file}\n`, '?format=ndjson&newIds=true', type);
  expect(withNewIds).toMatchObject({ added: 2, rejected: 0 });
});

describe('an import in progress', () => {
  interface Listed {
    readonly id: number;
    readonly state: string;
  }
  const list = () => desk.done<Listed[]>('GET', '/imports');

  /** Starts to import a file. The import cannot proceed until it is released. */
  async function begin(name: string, signal?: AbortSignal) {
    const file = header + rows(3_000, name);
    const held = lock(desk.app.config.databaseUrl.replace('sqlite:', ''));
    const sent = fetch(`${adminUrl(desk.app)}/admin/v1/pets/import?fileName=${name}.csv`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${desk.operator.token}`,
        'Content-Type': 'text/csv',
        'X-Request-Id': name,
      },
      body: file,
      ...(signal && { signal }),
    });
    // An aborted request may be rejected before the test awaits it.
    sent.catch(() => undefined);
    await until(async () => (await list())[0]?.state === 'running');
    const [listed] = await list();
    return { file, held, sent, id: listed?.id ?? 0 };
  }

  const endOf = (id: number, state: string) =>
    until(async () => (await list()).find((one) => one.id === id)?.state === state);

  test('is listed with its file, its operator and its progress', async () => {
    const { file, held, sent } = await begin('listed');
    using _held = held;
    expect((await list())[0]).toMatchObject({
      requestId: 'listed',
      actor: `operator:${desk.operator.name}`,
      fileName: 'listed.csv',
      format: 'csv',
      bytes: file.length,
      endedAt: null,
      added: 0,
      rejected: 0,
      error: null,
    });
    held.release();
    expect((await sent).status).toBe(200);
  });

  test.each([
    [
      'by closing the connection',
      async (_id: number, closing: AbortController) => {
        closing.abort();
        // The client and the service share an event loop, so the service detects the closed connection first.
        for (let look = 0; look < 20; look++) await list();
      },
    ],
    ['by any operator', async (id: number) => void (await desk.done('POST', `/imports/${id}/stop`, {}))],
  ])('can be stopped %s, and resumes when the same file is sent again', async (how, stop) => {
    const before = await animals();
    const closing = new AbortController();
    const { file, held, sent, id } = await begin(how.replaceAll(' ', '-'), closing.signal);
    using _held = held;
    await stop(id, closing);
    held.release();
    await sent.catch(() => undefined);
    await endOf(id, 'stopped');
    expect(await animals()).toBeLessThan(before + 3_000);
    expect(await imported(file)).toMatchObject({ state: 'imported', added: 3_000 });
    expect(await animals()).toBe(before + 3_000);
  });
});

test('an import ends when its operator is revoked, says how many animals were added, and can be resumed', async () => {
  const before = await animals();
  const file = header + rows(30_000, 'revoked');
  const { token, name } = await addOperator(desk.app, 'admin');
  using database = openDataFile(desk.app.config.databaseUrl.replace('sqlite:', ''));
  database.run(`CREATE TRIGGER revoke AFTER INSERT ON pets
    BEGIN UPDATE operators SET revoked_at = 1 WHERE name = '${name}'; END`);
  const { status, body } = await callAdmin(desk.app, 'POST', '/pets/import', {
    ...{ token, body: file, headers: { 'Content-Type': 'text/csv' } },
  });
  database.run('DROP TRIGGER revoke');
  const { message } = body as { message: string };
  const added = (await animals()) - before;
  expect([status, added < 30_000]).toEqual([401, true]);
  expect(message).toContain(`At least ${added} animals of this file were added.`);
  const [listed] = await desk.done<object[]>('GET', '/imports');
  expect(listed).toMatchObject({ state: 'failed', error: message, added });
  const [ended] = await desk.done<object[]>('GET', `/audit?actor=operator:${name}`);
  expect(ended).toMatchObject({ operation: 'importPets', after: { added, finished: false } });
  expect(await imported(file)).toMatchObject({ state: 'imported', added: 30_000 });
  expect(await animals()).toBe(before + 30_000);
});

describe('a finished import', () => {
  test('is listed with its outcome and its rejected lines', async () => {
    const report = await imported(`${header}bad,x,sold\nGood,1,sold\n`, '?fileName=kept.csv');
    const [listed] = await desk.done<{ id: number }[]>('GET', '/imports');
    expect(listed).toMatchObject({ fileName: 'kept.csv', state: 'imported', added: 1, rejected: 1 });
    expect(await desk.done<object>('GET', `/imports/${listed?.id}`)).toEqual({ ...listed, report });
  });

  test('is listed with the reason if it failed', async () => {
    await send('name,age\nA,1\n');
    const [listed] = await desk.done<object[]>('GET', '/imports');
    expect(listed).toMatchObject({ state: 'failed', error: expect.stringContaining('header row') });
  });

  test('is no longer listed after 20 more imports', async () => {
    await imported(`${header}first,1,sold\n`);
    const [first] = await desk.done<{ id: number }[]>('GET', '/imports');
    for (let count = 0; count < 20; count++) await imported(`${header}first,1,sold\n`);
    expect((await desk.done<object[]>('GET', '/imports')).length).toBe(20);
    expect((await desk.ask('GET', `/imports/${first?.id}`)).code).toBe('import_not_found');
  });
});

describe('an import preview', () => {
  const preview = (file: string, query = '', type = 'text/csv') =>
    desk.ask('POST', `/pets/import/preview${query}`, file, { headers: { 'Content-Type': type } });

  test('contains the columns and the first few rows as an import would parse them, and adds nothing', async () => {
    const before = await animals();
    const file = 'status,name,categoryId\nsold,"A, B",9223372036854775807\nsold,C,dog\n';
    const { status, body } = await preview(file);
    expect([status, body]).toEqual([
      200,
      {
        columns: ['status', 'name', 'categoryId'],
        rows: [
          {
            ...{ line: 2, name: 'A, B', categoryId: '9223372036854775807', status: 'sold' },
            ...{ reason: null, text: null },
          },
          {
            ...{ line: 3, name: null, categoryId: null, status: null, text: 'sold,C,dog' },
            reason: expect.stringContaining('categoryId must be an integer'),
          },
        ],
      },
    ]);
    expect(await animals()).toBe(before);
  });

  test('contains the documented column names for a file exported from a spreadsheet', async () => {
    const { body } = await preview('sep=;\r\nNAME;categoryid;;\r\nA;1.0;;\r\n');
    expect(body).toMatchObject({ columns: ['name', 'categoryId'], rows: [{ line: 3, categoryId: '1' }] });
  });

  test('contains at most 1,000 rows', async () => {
    const { status, body } = await preview(`${header}${',\n'.repeat(30_000)}`);
    expect([status, (body as { rows: object[] }).rows.length]).toEqual([200, 1_000]);
  });

  test('is rejected for files that an import would reject, and for files above 65,536 bytes', async () => {
    expect((await preview('name,age\n')).code).toBe('import_invalid');
    expect((await preview(header.padEnd(65_537))).code).toBe('body_too_large');
  });
});

test('an invalid file is rejected with 422, and none of its rows are imported', async () => {
  const before = await animals();
  for (const file of ['', 'name,age\nA,1\n', 'A,1,sold\n']) {
    const { status, code } = await send(file);
    expect([file, status, code]).toEqual([file, 422, 'import_invalid']);
  }
  expect(await animals()).toBe(before);
});

test('the audit log records the start and the outcome of an import', async () => {
  await imported(header + rows(3_000, 'logged'), '?fileName=logged.csv');
  const [ended, begun] = await desk.done<object[]>('GET', '/audit?limit=2');
  const what = { operation: 'importPets', actor: `operator:${desk.operator.name}`, before: null };
  expect(begun).toMatchObject({ ...what, after: { file: 'logged.csv', added: 900, finished: false } });
  expect(ended).toMatchObject({
    ...what,
    after: { file: 'logged.csv', added: 3_000, rejected: 0, finished: true },
  });
});

test('all rejected rows of an import are counted, and the first 10,000 are returned', async () => {
  const file = `${header}${'bad,x,sold\n'.repeat(10_050)}good,1,sold\n`;
  const { added, rejected, rejects } = await imported(file);
  expect([added, rejected, rejects.length, rejects.at(-1)?.line]).toEqual([1, 10_050, 10_000, 10_001]);
});

test('an upload that cannot be stored fails with a 503 that names the folder and the remedy', async () => {
  async function* content() {
    yield Buffer.from(header);
  }
  // This is a file, so no other file can be created in it.
  const refused = await rejectionOf(spoolToFile(content(), import.meta.path));
  expect(refused).toBeInstanceOf(ApiError);
  expect([(refused as ApiError).code, (refused as ApiError).message]).toEqual([
    'service_unavailable',
    `The file cannot be stored in ${import.meta.path} (ENOTDIR). Free up space, or make the folder writable.`,
  ]);
});

test('an upload is stored in the folder of the store, without a name', async () => {
  const folder = dirname(desk.app.config.databaseUrl.replace('sqlite:', ''));
  const before = readdirSync(folder);
  const { TMPDIR } = process.env;
  // This is a file, so no temporary folder can be created in it.
  process.env.TMPDIR = import.meta.path;
  try {
    const held = lock(desk.app.config.databaseUrl.replace('sqlite:', ''));
    using _held = held;
    const sending = send(header + rows(3_000, 'spoolToFile'));
    await until(
      async () => (await desk.done<{ state: string }[]>('GET', '/imports'))[0]?.state === 'running',
    );
    expect(readdirSync(folder)).toEqual(before);
    held.release();
    expect((await sending).status).toBe(200);
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
});
