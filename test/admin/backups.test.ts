/** Backups through the admin API, with the real listener. */
import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addOperator, adminUrl, callAdmin } from '../support/admin.ts';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { temporaryFolder } from '../support/folder.ts';

const shared = await startAppForFile();
const { token: sharedToken } = await addOperator(shared, 'admin');

test('admins can create, list and verify backups, but viewers cannot create backups', async () => {
  await using folder = await temporaryFolder();
  await using app = await startTestApp({ BACKUP_FOLDER: folder.path, BACKUP_KEEP: '7' });
  const { token, name: operator } = await addOperator(app, 'admin');
  const viewer = await addOperator(app, 'viewer');
  expect((await callAdmin(app, 'POST', '/backups', { token: viewer.token })).code).toBe('role_insufficient');
  const made = await callAdmin(app, 'POST', '/backups', { token });
  expect(made.status).toBe(201);
  const { name } = made.body as { name: string };
  const listed = await callAdmin(app, 'GET', '/backups', { token: viewer.token });
  expect(listed.body).toEqual({
    folder: folder.path,
    everySeconds: null,
    keep: 7,
    running: null,
    lastError: null,
    backups: [expect.objectContaining({ label: 'manual', lastVerification: null })],
  });
  const verified = await callAdmin(app, 'POST', '/backups/verify', { token: viewer.token, body: { name } });
  expect([verified.status, verified.body]).toEqual([200, expect.objectContaining({ name })]);
  const audit = await callAdmin(app, 'GET', `/audit?object=backup:${name}`, { token });
  expect(audit.text).toContain(`operator:${operator}`);

  writeFileSync(join(folder.path, name), 'x', { flag: 'a' });
  const damaged = await callAdmin(app, 'POST', '/backups/verify', { token, body: { name } });
  expect([damaged.status, damaged.code]).toEqual([422, 'backup_damaged']);
  const missing = await callAdmin(app, 'POST', '/backups/verify', { token, body: { name: `../${name}` } });
  expect([missing.status, missing.code]).toEqual([404, 'backup_not_found']);
});

test('only an admin can download a backup, and the download is recorded', async () => {
  await using folder = await temporaryFolder();
  await using app = await startTestApp({ BACKUP_FOLDER: folder.path });
  const { token } = await addOperator(app, 'admin');
  const viewer = await addOperator(app, 'viewer');
  const body = { label: 'before-upgrade' };
  const made = await callAdmin(app, 'POST', '/backups', { token, body });
  const { name } = made.body as { name: string };
  expect(name).toEndWith('Z-before-upgrade.backup');
  const address = `${adminUrl(app)}/admin/v1/backups/download?name=${name}`;
  const download = (as: string) => fetch(address, { headers: { Authorization: `Bearer ${as}` } });
  const response = await download(token);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${name}"`);
  expect(Buffer.from(await response.arrayBuffer()).equals(readFileSync(join(folder.path, name)))).toBe(true);
  const { text } = await callAdmin(app, 'GET', `/audit?object=backup:${name}`, { token });
  expect(text).toContain('downloadBackup');
  expect((await download(viewer.token)).status).toBe(403);
  for (const other of [`../${name}`, 'store.db', `${name}.verified`]) {
    const refused = await callAdmin(app, 'GET', `/backups/download?name=${other}`, { token });
    expect([refused.status, refused.code]).toEqual([404, 'backup_not_found']);
  }
});

test.each(['', '-x', '../x', 'a b', 'x'.repeat(41), 'ä'])(
  'a backup with the label %j is rejected',
  async (label) => {
    const answer = await callAdmin(shared, 'POST', '/backups', { token: sharedToken, body: { label } });
    expect([answer.status, answer.code]).toEqual([400, 'invalid_body']);
  },
);

test('creating a backup without a configured folder fails with an error that names the setting', async () => {
  await using app = await startTestApp();
  const { token } = await addOperator(app, 'admin');
  const refused = await callAdmin(app, 'POST', '/backups', { token });
  expect([refused.status, refused.code]).toEqual([409, 'backup_not_possible']);
  expect(refused.text).toContain('BACKUP_FOLDER');
  expect((await callAdmin(app, 'GET', '/backups', { token })).body).toMatchObject({
    folder: null,
    backups: [],
  });
});
