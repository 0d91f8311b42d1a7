import { describe, expect, test } from 'bun:test';
import { Console } from '../../src/http/admin/console.ts';
import { adminUrl, callAdmin } from '../support/admin.ts';
import { startAppForFile } from '../support/app.ts';
import { exchange } from '../support/raw.ts';

const app = await startAppForFile();

const get = (path: string, headers: Record<string, string> = {}) => fetch(adminUrl(app) + path, { headers });

describe('the console', () => {
  test('loads only its own scripts and styles, whose names contain hashes so that they can be cached permanently', async () => {
    const page = await get('/');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html;charset=utf-8']);
    expect(page.headers.get('cache-control')).toBe('no-store');
    const html = await page.text();
    const paths = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThanOrEqual(2);
    for (const path of paths) {
      expect(path).toMatch(/^\/assets\/[\w-]+-[\w]{8,}\.\w+$/);
      const asset = await get(path);
      expect(asset.status).toBe(200);
      expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(asset.headers.get('x-content-type-options')).toBe('nosniff');
    }
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|\bon\w+=|\bstyle=|javascript:/i);
  });

  test('is compressed only for clients that accept compression', async () => {
    const html = await (await get('/')).text();
    const script = /src="([^"]+\.js)"/.exec(html)?.[1] ?? '';
    const url = adminUrl(app) + script;
    const compressed = await fetch(url, { headers: { 'Accept-Encoding': 'gzip' }, decompress: false });
    expect(compressed.headers.get('content-encoding')).toBe('gzip');
    const plain = await fetch(url, { headers: { 'Accept-Encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(plain.headers.get('vary')).toBe('Accept-Encoding');
    const bytes = await compressed.arrayBuffer();
    expect(new TextDecoder().decode(Bun.gunzipSync(bytes))).toBe(await plain.text());
    expect(bytes.byteLength).toBeLessThan(150_000);
  });

  test('serves no other files from the machine', async () => {
    const paths = [
      '/assets/../../package.json',
      '/assets/..%2f..%2fpackage.json',
      '/assets/%2e%2e/%2e%2e/package.json',
      '/assets/....//package.json',
      '/assets/%00',
      '/assets//etc/passwd',
      '/assets/',
      '/index.html',
      '/main.tsx',
      '/console/main.tsx',
      '//evil.example/',
      '/../../../../etc/passwd',
    ];
    for (const path of paths) {
      const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
      const [response] = await exchange(adminUrl(app), request);
      expect([path, response?.status]).toEqual([path, 404]);
      expect(response?.body).toContain('route_not_found');
    }
  });
});

test('after a failed build of the console, the next request builds it again', async () => {
  let attempts = 0;
  const pages = new Console(async () => {
    if (++attempts === 1) throw new Error('no space');
    return new Map([['/', { type: 'text/html', body: new Blob(['hello']) }]]);
  });
  const request = new Request('http://localhost/', { headers: { 'Accept-Encoding': 'identity' } });
  expect(await pages.respond(request, '/').catch((error: Error) => error.message)).toBe('no space');
  expect((await pages.respond(request, '/'))?.status).toBe(200);
  await pages.respond(request, '/');
  expect(attempts).toBe(2);
});

test('the admin OpenAPI document requires no credentials', async () => {
  const response = await get('/admin/v1/openapi.json');
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    openapi: '3.1.1',
    info: { title: 'Animal Store admin API' },
  });
});

test.each(['/', '/metrics', '/assets/x.js', '/admin/v1/openapi.json'])(
  '%s accepts only GET and HEAD',
  async (path) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers } = await callAdmin(app, method, `root:${path}`);
      expect([method, status, headers.get('allow')]).toEqual([method, 405, 'GET, HEAD']);
    }
  },
);
