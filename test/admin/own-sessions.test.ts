/** The sessions of an operator, visible only to that operator. */
import { expect, test } from 'bun:test';
import { addOperator, callAdmin, fromConsole, signIn, type TestSession } from '../support/admin.ts';
import { startAppForFile } from '../support/app.ts';

interface Own {
  readonly id: number;
  readonly isCurrent: boolean;
}

const app = await startAppForFile();

const ask = (method: string, target: string, session: TestSession) =>
  callAdmin(app, method, target, { session, headers: fromConsole(app) });
const listed = async (session: TestSession) => (await ask('GET', '/sessions', session)).body as Own[];

test('operators can see and end their own sessions, but no others', async () => {
  const [anna, ben] = [await addOperator(app, 'viewer'), await addOperator(app, 'admin')];
  const [here, there] = [await signIn(app, anna.token), await signIn(app, anna.token)];
  const other = await signIn(app, ben.token);
  const own = await listed(here);
  expect(own.map(({ isCurrent }) => isCurrent).sort()).toEqual([false, true]);
  const [bens] = await listed(other);
  expect((await ask('DELETE', `/sessions/${bens?.id}`, here)).code).toBe('session_not_found');

  const away = own.find(({ isCurrent }) => !isCurrent)?.id;
  expect((await ask('DELETE', `/sessions/${away}`, here)).status).toBe(204);
  expect((await ask('GET', '/sessions', there)).code).toBe('sign_in_required');
  expect(await listed(here)).toEqual(own.filter(({ isCurrent }) => isCurrent));
  expect((await ask('DELETE', `/sessions/${away}`, here)).code).toBe('session_not_found');
  expect((await listed(other)).length).toBe(1);
});
