/** Uploaded files and exported lines, which may be larger than ordinary request and response bodies. */
import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { auditOperations } from '../../src/contract/admin/audit.ts';
import { maxUploadBytes } from '../../src/contract/bounds.ts';
import { streamLines } from '../../src/http/admin/downloads.ts';
import { addOperator, adminUrl, callAdmin } from '../support/admin.ts';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { keptLog } from '../support/log.ts';
import { exchange } from '../support/raw.ts';
import { rejectionOf } from '../support/rejection.ts';
import { until } from '../support/wait.ts';

const app = await startAppForFile();
const { token } = await addOperator(app, 'admin');
const viewer = await addOperator(app, 'viewer');

const csv = 'id,name,categoryId,status\n1,Ozzy,1,available\n2,Maple,7,sold\n';

/** Text that is sent in chunks of this length. */
function inChunks(text: string, length: number): ReadableStream<Uint8Array> {
  const pieces = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= pieces.length) return controller.close();
      controller.enqueue(pieces.subarray(at, at + length));
      at += length;
    },
  });
}

describe('an uploaded file', () => {
  const type = { 'Content-Type': 'text/csv' };

  test('is received completely, whether it is sent at once or in chunks of any length', async () => {
    const bodies = [csv, inChunks(csv.replace('Ozzy', 'Rex'), 1), inChunks(csv.replace('Ozzy', 'Bo'), 7)];
    for (const body of bodies) {
      const { status, body: report } = await callAdmin(app, 'POST', '/pets/import?newIds=true', {
        token,
        headers: type,
        body,
      });
      expect([status, report]).toEqual([200, expect.objectContaining({ added: 2, rejected: 0 })]);
    }
  });

  test('is rejected if its type is unsupported or it is compressed', async () => {
    for (const headers of [{ 'Content-Type': 'application/json' }, { ...type, 'Content-Encoding': 'gzip' }]) {
      const { code } = await callAdmin(app, 'POST', '/pets/import', { token, headers, body: csv });
      expect(code).toBe('unsupported_media_type');
    }
  });

  test('is rejected before it is received if its Content-Length is too large', async () => {
    const head =
      `POST /admin/v1/pets/import HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: text/csv\r\nContent-Length: ${maxUploadBytes + 1}\r\nConnection: close\r\n\r\n`;
    const [response] = await exchange(adminUrl(app), head);
    expect([response?.status, JSON.parse(response?.body ?? '{}').code]).toEqual([413, 'body_too_large']);
  });

  test('is rejected if the operator lacks permission, and the connection stays usable', async () => {
    const { code } = await callAdmin(app, 'POST', '/pets/import', {
      token: viewer.token,
      headers: type,
      body: inChunks(csv.repeat(20_000), 65_536),
    });
    expect(code).toBe('role_insufficient');
    expect((await callAdmin(app, 'GET', '/session', { token })).status).toBe(200);
  });
});

test('an aborted upload is not logged as an error', async () => {
  const { log, lines } = keptLog();
  log.level = 'debug';
  await using stopped = await startTestApp({}, log);
  const { token: theirs } = await addOperator(stopped, 'admin');
  const port = Number(new URL(adminUrl(stopped)).port);
  const head =
    `POST /admin/v1/pets/import HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${theirs}\r\n` +
    'Content-Type: text/csv\r\nContent-Length: 1000\r\n\r\n';
  // Nothing is logged if the connection is closed before the request has been read.
  await until(async () => {
    const socket = connect(port, '127.0.0.1');
    await new Promise((sent) => socket.write(`${head}name,categoryId\n`, sent));
    await callAdmin(stopped, 'GET', '/session', { token: theirs });
    socket.destroy();
    return lines.some(({ msg }) => msg === 'client closed the connection');
  });
  expect(lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

describe('the lines of an export', () => {
  const get = new Request('http://localhost/');

  test('are no longer read once the client disconnects', async () => {
    let hasEnded = false;
    async function* endless() {
      try {
        for (;;) yield '{}';
      } finally {
        hasEnded = true;
      }
    }
    const { body } = await streamLines(auditOperations.exportAudit, get, endless());
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    expect(hasEnded).toBe(true);
  });

  test('are replaced by an error response if the first line cannot be read, and end early if a later line cannot be read', async () => {
    async function* failing(after: number) {
      for (let line = 0; line < after; line++) yield '{}';
      throw new Error('gone');
    }
    const atOnce = streamLines(auditOperations.exportAudit, get, failing(0));
    expect(await rejectionOf(atOnce)).toMatchObject({ message: 'gone' });
    const { body } = await streamLines(auditOperations.exportAudit, get, failing(2));
    expect(await rejectionOf(new Response(body).text())).toMatchObject({ message: 'gone' });
  });

  test('are not read for HEAD', async () => {
    const { status, text, headers } = await callAdmin(app, 'HEAD', '/audit/export', { token });
    expect([status, text, headers.get('content-type')]).toEqual([200, '', 'application/x-ndjson']);
  });
});
