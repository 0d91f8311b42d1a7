import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import version from '../../assets/reference/version.json' with { type: 'json' };
import packageJson from '../../client/package.json' with { type: 'json' };
import { startAppForFile } from '../support/app.ts';

const publicUrl = 'https://animals.example.com/store';
const app = await startAppForFile({ PUBLIC_URL: publicUrl, STAGING_URL: 'https://staging.example.com' });

const bare = await startAppForFile();

/** Fetches without following redirects or decompressing, to see the response as sent. */
function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  return fetch(app.url + path, { method, headers, redirect: 'manual', decompress: false });
}

/** The page's links, as a browser resolves them if it loads the page from `address`. */
async function addressesFrom(address: string): Promise<string[]> {
  const html = await (await get('/docs')).text();
  return [...html.matchAll(/\b(?:src|href|data-url)="([^"]*)"/g)].map(
    ([, url]) => new URL(url ?? '', address).href,
  );
}

test("the reference page loads its script and the document from relative URLs, even below a proxy's path prefix", async () => {
  const all = await addressesFrom(`${publicUrl}/docs`);
  expect(all).toContain(`${publicUrl}/docs/scalar.js?v=${version.version}`);
  expect(all).toContain(`${publicUrl}/openapi.json`);
  expect(all.filter((url) => !url.startsWith(`${publicUrl}/`) && url !== 'data:,')).toEqual([]);
  expect(await (await get('/docs')).text()).not.toMatch(/https?:\/\//);
});

test('the reference page may run only its own script, and call only this service and the servers in the document', async () => {
  const { headers, status } = await get('/docs');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  const policy = policyOf(headers);
  expect(policy.get('default-src')).toEqual(["'none'"]);
  expect(policy.get('script-src')).toEqual(["'self'"]);
  expect(policy.get('connect-src')).toEqual([
    "'self'",
    'https://animals.example.com',
    'https://staging.example.com',
  ]);
  expect(policyOf((await fetch(`${bare.url}/docs`)).headers).get('connect-src')).toEqual([
    "'self'",
    bare.url,
  ]);
});

test("the reference page does not connect to any of its vendor's hosts", async () => {
  const html = await (await get('/docs')).text();
  const [, text = ''] = /data-configuration="([^"]*)"/.exec(html) ?? [];
  expect(JSON.parse(text.replaceAll('&quot;', '"'))).toMatchObject({
    withDefaultFonts: false,
    telemetry: false,
    persistAuth: false,
    proxyUrl: '',
    agent: { disabled: true },
    mcp: { disabled: true },
  });
});

test("the reference page's script is identical to the vendor's published file, and is compressed for clients that accept compression", async () => {
  const compressed = await get('/docs/scalar.js', { 'Accept-Encoding': 'br, gzip' });
  expect(compressed.headers.get('content-encoding')).toBe('gzip');
  const plain = await get('/docs/scalar.js', { 'Accept-Encoding': 'gzip;q=0, *' });
  expect(plain.headers.get('content-encoding')).toBeNull();
  for (const { headers } of [compressed, plain]) {
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(headers.get('cache-control')).toContain('immutable');
    expect(headers.get('vary')).toBe('Accept-Encoding');
  }
  const script = await plain.bytes();
  expect(gunzipSync(await compressed.bytes()).equals(script)).toBe(true);
  expect(createHash('sha256').update(script).digest('hex')).toBe(version.sha256);
});

test.each(['/docs', '/docs/scalar.js', '/openapi.json'])(
  '%s returns the same headers for HEAD as for GET, without a body',
  async (path) => {
    const [head, whole] = [await get(path, {}, 'HEAD'), await get(path)];
    expect(head.status).toBe(200);
    expect(await head.text()).toBe('');
    expect(head.headers.get('date')).not.toBeNull();
    for (const name of ['content-type', 'content-length', 'cache-control']) {
      expect(head.headers.get(name)).toBe(whole.headers.get(name));
    }
  },
);

test.each(['/docs', '/docs/scalar.js'])('%s rejects POST with 405 and an Allow header', async (path) => {
  const response = await get(path, {}, 'POST');
  expect(response.status).toBe(405);
  expect(response.headers.get('allow')).toBe('GET, HEAD');
  expect(await response.json()).toMatchObject({ code: 'method_not_allowed', status: 405 });
});

test('the root redirects to the reference page', async () => {
  const { status, headers } = await get('/');
  expect(status).toBe(302);
  expect(headers.get('location')).toBe(`${publicUrl}/docs`);
  expect((await fetch(bare.url)).url).toBe(`${bare.url}/docs`);
});

test('the webhook receivers page of version 1.1.0 redirects to the section about receiving webhooks', async () => {
  const { status, headers } = await get('/docs/guides/webhook-receivers');
  expect(status).toBe(301);
  expect(headers.get('location')).toBe(`${publicUrl}/docs/guides/webhooks#receiving`);
});

test.each(['/docs/guides/quickstart', '/docs/guides/typescript-client'])(
  '%s installs the current client from the address of the service',
  async (path) => {
    const command = (root: string) => `npm install ${root}/client-${packageJson.version}.tgz`;
    const html = await (await get(path)).text();
    expect(html).toContain(command(publicUrl));
    expect(html).not.toContain('http://127.0.0.1:3000');
    expect(await (await fetch(bare.url + path)).text()).toContain(command(bare.url));
  },
);

test('/client.tgz redirects to the current client below the public URL', async () => {
  const { status, headers } = await get('/client.tgz');
  expect(status).toBe(302);
  expect(headers.get('location')).toBe(`${publicUrl}/client-${packageJson.version}.tgz`);
});

test('the API catalog is a linkset (RFC 9727), and all of its links work', async () => {
  const response = await fetch(`${bare.url}/.well-known/api-catalog`);
  expect(response.headers.get('content-type')).toStartWith('application/linkset+json');
  expect(response.headers.get('link')).toBe('</.well-known/api-catalog>; rel="api-catalog"');
  const { linkset } = (await response.json()) as { linkset: Record<string, unknown>[] };
  expect(linkset).toHaveLength(1);
  const { anchor, ...relations } = linkset[0] ?? {};
  expect(anchor).toBe('/v1');
  expect(Object.keys(relations)).toEqual(['service-desc', 'service-doc', 'status']);
  for (const { href, type } of Object.values(relations).flat() as { href: string; type: string }[]) {
    const target = await fetch(new URL(href, bare.url));
    expect(target.status).toBe(200);
    expect(target.headers.get('content-type')).toStartWith(type);
  }
});

test('the OpenAPI document lists the configured servers, with production first', async () => {
  const { servers } = (await (await get('/openapi.json')).json()) as { servers: unknown };
  expect(servers).toEqual([
    { url: `${publicUrl}/v1`, description: 'Production' },
    { url: 'https://staging.example.com/v1', description: 'Staging' },
  ]);
});

function policyOf(headers: Headers): Map<string, string[]> {
  const directives = (headers.get('content-security-policy') ?? '').split('; ');
  return new Map(
    directives.map((directive) => directive.split(' ')).map(([name = '', ...values]) => [name, values]),
  );
}
