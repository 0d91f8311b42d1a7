/** The settings of the admin API. */
import { isIP } from 'node:net';
import { integer } from './values.ts';

const largestPort = 65_535;

/** Undefined: the port after that of the service. */
export function adminPort(value: string): number | 'off' | undefined {
  if (value === '') return undefined;
  if (value === 'off') return value;
  try {
    return integer(0, largestPort)(value);
  } catch (error) {
    throw new Error(`${(error as Error).message}, or off`);
  }
}

/** The port of the admin API beside a service on this one, unless it is set: any free one for any free one. */
export function nextPort(port: number): number {
  if (port === 0) return 0;
  return port === largestPort ? port - 1 : port + 1;
}

/** Undefined when there is none. */
export function adminOrigin(value: string): string | undefined {
  if (value === '') return undefined;
  const url = URL.parse(value);
  if (url === null || url.protocol !== 'https:' || url.origin !== value.toLowerCase().replace(/\/$/, '')) {
    throw new Error('must be an https address without a path, such as https://admin.example.com');
  }
  return url.origin;
}

/** Whether only this machine reaches what listens there. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === 'localhost' || host === '::1';
}
