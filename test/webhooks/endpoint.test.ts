/**
 * Validation of webhook URLs. A private address is rejected in any notation, and even if a host name resolves to it.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { type Network, parseNetwork } from '../../src/domain/address.ts';
import { disallowedReason, localAddresses } from '../../src/webhooks/addresses.ts';
import { checkEndpoint, type PrivateAddress, type Resolve } from '../../src/webhooks/endpoint.ts';
import { systemResolve } from '../../src/webhooks/resolver.ts';
import { Sender } from '../../src/webhooks/send.ts';
import { allowing, startReceiver } from './receiver.ts';

/** Rejected URLs and the reason, keyed by address. `PORT` stands for the port of a service on this machine. */
const inward: Readonly<Record<string, readonly [reason: string, ...urls: string[]]>> = {
  '127.0.0.1': [
    'loopback',
    ...[
      'https://127.0.0.1:PORT/',
      'https://127.0.0.1.:PORT/',
      'https:127.0.0.1:PORT',
      'https:\\\\127.0.0.1:PORT\\',
    ],
    ...['https://2130706433:PORT/', 'https://017700000001:PORT/', 'https://0x7f000001:PORT/'],
    ...['https://0177.0.0.1:PORT/', 'https://0x7f.0.0.1:PORT/', 'https://0x7F.0X0.0.0x1:PORT/'],
    ...['https://127.1:PORT/', 'https://127.0.1:PORT/', 'https://0x7f.1:PORT/', 'https://0177.1:PORT/'],
    ...['https://１２７.０.０.１:PORT/', 'https://①②⑦.0.0.1:PORT/', 'https://127。0。0。1:PORT/'],
    ...['https://%31%32%37.0.0.1:PORT/', 'https://127.0.0.%31:PORT/', 'https://loopback.example:PORT/'],
    ...[
      'https://LOOPBACK.Example.:PORT/',
      'https://last-inward.example:PORT/',
      'https://first-inward.example:PORT/',
    ],
  ],
  '127.255.255.254': ['loopback', 'https://127.255.255.254/', 'https://2147483646/'],
  '::1': [
    'loopback',
    ...['https://[::1]:PORT/', 'https://[0:0:0:0:0:0:0:1]:PORT/', 'https://[0000::0001]:PORT/'],
    ...['https://[::0.0.0.1]:PORT/', 'https://loopback6.example:PORT/'],
  ],
  '::ffff:7f00:1': ['loopback', 'https://[::ffff:127.0.0.1]:PORT/', 'https://[0:0:0:0:0:ffff:7f00:1]:PORT/'],
  '::7f00:1': ['reserved', 'https://[::127.0.0.1]/', 'https://[::7f00:1]/'],
  '::ffff:0:7f00:1': ['reserved', 'https://[::ffff:0:127.0.0.1]/'],
  '64:ff9b::7f00:1': ['loopback', 'https://[64:ff9b::127.0.0.1]/', 'https://nat64.example/'],
  '64:ff9b::a9fe:a9fe': ['link-local', 'https://[64:ff9b::169.254.169.254]/'],
  '64:ff9b:1::808:808': ['reserved', 'https://[64:ff9b:1::8.8.8.8]/'],
  '2002:7f00:1::': ['reserved', 'https://[2002:7f00:1::]/'],
  '2002:a00:1::1': ['reserved', 'https://[2002:a00:1::1]/'],
  '2001::1': ['reserved', 'https://[2001:0::1]/'],
  '2001:0:808:808::80ff:fffe': ['reserved', 'https://[2001:0:808:808::80ff:fffe]/'],
  '0.0.0.0': ['unspecified', 'https://0/', 'https://0.0.0.0:PORT/', 'https://0x0/', 'https://00.0/'],
  '0.1.2.3': ['unspecified', 'https://0.1.2.3/'],
  '::': ['unspecified', 'https://[::]:PORT/', 'https://[0::0]/'],
  '10.0.0.1': [
    'private',
    'https://10.1/',
    'https://012.0.0.1/',
    'https://0xa000001/',
    'https://private.example/',
  ],
  '172.16.0.1': ['private', 'https://172.16.0.1/', 'https://2886729729/'],
  '172.31.255.255': ['private', 'https://172.31.255.255/'],
  '192.168.1.1': ['private', 'https://192.168.257/', 'https://0xc0.0xa8.0x1.0x1/', 'https://3232235777/'],
  '169.254.169.254': [
    'link-local',
    ...['https://169.254.169.254/latest/meta-data/', 'https://2852039166/', 'https://0xa9fea9fe/'],
    ...['https://0251.0376.0251.0376/', 'https://169.254.43518/', 'https://metadata.example/'],
  ],
  '::ffff:a9fe:a9fe': ['link-local', 'https://[::ffff:169.254.169.254]/', 'https://[::ffff:a9fe:a9fe]/'],
  '168.63.129.16': ['metadata', 'https://168.63.129.16/', 'https://2822734096/'],
  '100.64.0.1': ['carrier-grade NAT', 'https://100.64.0.1/'],
  '100.100.100.200': ['carrier-grade NAT', 'https://100.100.100.200/', 'https://1684301000/'],
  '192.0.0.192': ['reserved', 'https://192.0.0.192/'],
  '192.0.2.1': ['reserved', 'https://192.0.2.1/'],
  '198.18.0.1': ['reserved', 'https://198.18.0.1/'],
  '198.51.100.7': ['reserved', 'https://198.51.100.7/'],
  '203.0.113.7': ['reserved', 'https://203.0.113.7/'],
  '192.88.99.1': ['reserved', 'https://192.88.99.1/'],
  '224.0.0.1': ['multicast', 'https://224.0.0.1/', 'https://3758096385/'],
  '239.255.255.250': ['multicast', 'https://239.255.255.250/'],
  '240.0.0.1': ['reserved', 'https://240.0.0.1/'],
  '255.255.255.255': ['broadcast', 'https://255.255.255.255/', 'https://4294967295/', 'https://0xffffffff/'],
  'fe80::1': ['link-local', 'https://[fe80::1]/', 'https://link-local.example/'],
  'fec0::1': ['reserved', 'https://[fec0::1]/'],
  'fc00::1': ['private', 'https://[fc00::1]/'],
  'fd00:ec2::254': ['private', 'https://[fd00:ec2::254]/', 'https://[fd00:ec2:0:0::0254]/'],
  'ff02::1': ['multicast', 'https://[ff02::1]/'],
  '100::1': ['reserved', 'https://[100::1]/'],
  '2001:2::1': ['reserved', 'https://[2001:2::1]/'],
  '2001:db8::1': ['reserved', 'https://[2001:db8::1]/'],
  '3fff::1': ['reserved', 'https://[3fff::1]/'],
  '4000::1': ['reserved', 'https://[4000::1]/'],
};

const names: Readonly<Record<string, readonly string[]>> = {
  'loopback.example': ['127.0.0.1'],
  'last-inward.example': ['93.184.216.34', '2606:4700::1111', '127.0.0.1'],
  'first-inward.example': ['127.0.0.1', '93.184.216.34'],
  'loopback6.example': ['::1'],
  'nat64.example': ['64:ff9b::7f00:1'],
  'private.example': ['10.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  'link-local.example': ['fe80::1'],
  'public.example': ['93.184.216.34', '2606:4700::1111', '::ffff:1.1.1.1', '64:ff9b::1.1.1.1'],
  'empty.example': [],
};

const resolve: Resolve = async (name) => {
  const found = names[name];
  if (found === undefined) throw Object.assign(new Error(`no ${name}`), { code: 'ENOTFOUND' });
  return found;
};
const nowhere = { resolve, allowed: [] };

/** A service on this machine that must not receive requests. */
const service = await startReceiver((socket) => socket.end());
afterAll(() => service[Symbol.asyncDispose]());

describe('a URL that resolves to a private address', () => {
  const rows = Object.entries(inward).flatMap(([address, [reason, ...urls]]) =>
    urls.map((url) => [url.replace('PORT', String(service.port)), address, reason] as const),
  );

  test.each(rows)(
    'is rejected with an error that states the address and the reason: %s',
    async (url, address, reason) => {
      const noticed: PrivateAddress[] = [];
      const mistake = await checkEndpoint(url, nowhere, (one) => noticed.push(one));
      const name = Object.keys(names).find((one) => url.toLowerCase().includes(one));
      const found =
        name === undefined ? `${address} (${reason})` : `${name} resolves to an address that is ${reason}`;
      expect(mistake).toBe(`must resolve to public addresses only: ${found}`);
      expect(noticed).toEqual(name === undefined ? [] : [{ host: name, address, reason }]);
      using sender = new Sender(nowhere);
      expect(await sender.send({ url, accountId: 1, headers: {}, body: '{}' })).toMatchObject({
        error: 'blocked',
        message: mistake,
      });
      expect(service.connections().opened).toBe(0);
    },
  );

  test('is represented by more than 60 URLs in these tests', () => {
    expect(rows.length).toBeGreaterThan(60);
  });

  test("is rejected if the system's resolver resolves localhost to loopback", async () => {
    const mistake = await checkEndpoint('https://localhost/', { resolve: systemResolve, allowed: [] });
    expect(mistake).toEndWith('localhost resolves to an address that is loopback');
  });
});

describe('a webhook URL', () => {
  test.each([
    ...['', 'hooks', '//public.example/', 'ftp://public.example/', 'file:///etc/passwd', 'javascript:1'],
    ...[
      'https://',
      'https://256.1.1.1/',
      'https://1.2.3.4.5/',
      'https://4294967296/',
      'https://[fe80::1%25eth0]/',
    ],
    ...['https://[::1', 'https://127.0.0.1%00.public.example/', 'https://public.example:65536/'],
    ...['https://public.example:0/', ' https://public.example/', 'https://public\n.example/', 'https://a b/'],
  ])('must be an https URL, not %j', async (url) => {
    expect(await checkEndpoint(url, nowhere)).toStartWith('must be an https URL');
  });

  test.each([
    ['https://anna:word@public.example/', 'must not contain a user name or password'],
    ['https://public.example@127.0.0.1/', 'must not contain a user name or password'],
    ['https://public.example/#top', 'must not contain a fragment (#)'],
    ['https://public.example/#', 'must not contain a fragment (#)'],
    ['https://missing.example/', 'must have a host that can be resolved (missing.example: ENOTFOUND)'],
    ['https://empty.example/', 'must have a host that can be resolved (empty.example: no address)'],
    ['http://public.example/', 'must be an https URL'],
  ])('is rejected with an error that states the reason: %s', async (url, mistake) => {
    expect(await checkEndpoint(url, nowhere)).toBe(mistake);
  });

  test.each([
    ...['https://public.example/', 'https://public.example:1/a?b=c', 'https://PUBLIC.example.:65535'],
    ...['https://93.184.216.34/', 'https://[2606:4700::1111]/', 'https://[64:ff9b::1.1.1.1]/'],
  ])('may be %s', async (url) => {
    expect(await checkEndpoint(url, nowhere)).toBeUndefined();
  });
});

test('a webhook URL can have at most 2,048 characters', async () => {
  const longest = `https://public.example/${'a'.repeat(2_025)}`;
  expect(await checkEndpoint(longest, nowhere)).toBeUndefined();
  expect(await checkEndpoint(`${longest}a`, nowhere)).toBe('must have at most 2048 characters');
});

describe('WEBHOOK_ALLOWED_NETWORKS', () => {
  const allowed = allowing('10.0.0.0/8, fd00::/8');

  test.each([
    ...[
      'https://10.0.0.1/',
      'http://10.0.0.1:8080/',
      'http://private.example/',
      'https://[::ffff:10.0.0.1]/',
    ],
    ...['http://[fd00:ec2::254]/', 'https://public.example/'],
  ])('permits https and http URLs in an allowed network: %s', async (url) => {
    expect(await checkEndpoint(url, { resolve, allowed })).toBeUndefined();
  });

  test.each([
    ['https://127.0.0.1/', 'must resolve to public addresses only: 127.0.0.1 (loopback)'],
    ['https://192.168.1.1/', 'must resolve to public addresses only: 192.168.1.1 (private)'],
    ['https://[64:ff9b::10.0.0.1]/', 'must resolve to public addresses only: 64:ff9b::a00:1 (private)'],
    ['http://public.example/', 'must be an https URL'],
  ])('does not affect the rules for other addresses: %s', async (url, mistake) => {
    expect(await checkEndpoint(url, { resolve, allowed })).toBe(mistake);
  });
});

test.each<[address: string, reason: string | undefined]>([
  ['93.184.216.34', "this machine's own"],
  ['::ffff:93.184.216.34', "this machine's own"],
  ['64:ff9b::93.184.216.34', "this machine's own"],
  ['2606:4700:0::1111', "this machine's own"],
  ['93.184.216.35', undefined],
  ['127.0.0.1', 'loopback'],
])('a public address of this machine is not allowed: %s', (address, reason) => {
  const own = [parseNetwork('93.184.216.34') as Network, parseNetwork('2606:4700::1111') as Network];
  expect(disallowedReason(address, [], own)).toBe(reason);
  if (reason !== undefined)
    expect(disallowedReason(address, [parseNetwork(address) as Network], own)).toBeUndefined();
});

test('webhooks are sent even if the addresses of this machine cannot be read', () => {
  const own = localAddresses(() => {
    throw new Error('getifaddrs returned an error');
  });
  expect(disallowedReason('93.184.216.34', [], own)).toBeUndefined();
});
