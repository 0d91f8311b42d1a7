/** A TLS proxy that forwards browsers' requests unchanged. */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createServer } from 'node:tls';
import type { Certificate } from './certificates.ts';

interface TlsProxy extends AsyncDisposable {
  readonly port: number;
  /** Sets the target port. Connections are closed until a port is set. */
  leadTo(port: number): void;
}

export async function startTlsProxy({ certificate: cert, key }: Certificate): Promise<TlsProxy> {
  let target: number | undefined;
  const server = createServer({ cert, key }, (browser) => {
    if (target === undefined) return browser.destroy();
    const service = connect(target, '127.0.0.1');
    browser.pipe(service).pipe(browser);
    browser.on('error', () => service.destroy());
    service.on('error', () => browser.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    leadTo: (port) => {
      target = port;
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
    },
  };
}
