/** Requests of operators whose body arrives after the operator was revoked. */
import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import {
  addOperator,
  adminUrl,
  callAdmin,
  fromConsole,
  signIn,
  type TestOperator,
} from '../support/admin.ts';
import { startAppForFile } from '../support/app.ts';
import { responsesOf } from '../support/raw.ts';
import { until } from '../support/wait.ts';

const app = await startAppForFile();
const { storage } = app.operator;

/** Sends a request with a part of its body. The result sends the rest, and returns the status and the error code. */
function begin(target: string, body: string, headers: Readonly<Record<string, string>>) {
  const { host, hostname, port } = new URL(adminUrl(app));
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const fields = Object.entries({
    Host: host,
    ...headers,
    'Content-Length': body.length,
    Connection: 'close',
  });
  const head = [`POST /admin/v1${target} HTTP/1.1`, ...fields.map((field) => field.join(': ')), '', ''];
  socket.write(head.join('\r\n') + body.slice(0, 5));
  return async () => {
    socket.write(body.slice(5));
    await once(socket, 'close');
    const [response] = responsesOf(Buffer.concat(chunks).toString('latin1'));
    return [response?.status, JSON.parse(response?.body ?? '{}').code];
  };
}

const revoke = ({ id }: TestOperator) => storage.write('revokeOperator', { id, at: app.clock.now() });

test('an uploaded file is not imported if its operator is revoked before the upload ends', async () => {
  const operator = await addOperator(app, 'admin');
  const other = await addOperator(app, 'admin');
  const csv = 'name,categoryId,status\nOzzy,1,available\n';
  const finish = begin('/pets/import?fileName=late.csv', csv, {
    Authorization: `Bearer ${operator.token}`,
    'Content-Type': 'text/csv',
  });
  const listed = async () => (await callAdmin(app, 'GET', '/imports', other)).text;
  await until(async () => (await listed()).includes('"fileName":"late.csv"'));
  await revoke(operator);
  expect(await finish()).toEqual([401, 'sign_in_failed']);
  expect(await storage.pets.list(undefined, 1)).toEqual([]);
});

test('an account is not created if the operator is revoked before the body arrives', async () => {
  const operator = await addOperator(app, 'admin');
  const session = await signIn(app, operator.token);
  const sessions = () => storage.sessions.list(undefined, 100);
  const [before] = await sessions();
  // The use of a session is stored at most once a minute, and shows that the head of the request has been read.
  app.clock.advance(120);
  const finish = begin('/accounts', '{"name":"late","plan":"free"}', {
    ...fromConsole(app),
    ...{ Cookie: session.cookie, 'X-Session-Secret': session.secret, 'Content-Type': 'application/json' },
  });
  await until(async () => (await sessions())[0]?.usedAt !== before?.usedAt);
  await revoke(operator);
  expect(await finish()).toEqual([401, 'sign_in_required']);
  const accounts = await storage.accounts.list(undefined, 100);
  expect(accounts.map(({ name }) => name)).not.toContain('late');
});
