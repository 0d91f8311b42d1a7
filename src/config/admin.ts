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
function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === 'localhost' || host === '::1';
}

/** What is wrong with where the admin API listens, given the other settings. */
export function adminMistakes({
  PORT,
  ADMIN_HOST,
  ADMIN_PORT,
  ADMIN_ORIGIN,
}: {
  readonly PORT?: number;
  readonly ADMIN_HOST?: string;
  readonly ADMIN_PORT?: number | 'off' | undefined;
  readonly ADMIN_ORIGIN?: string | undefined;
}): string[] {
  if (ADMIN_PORT === 'off') return [];
  const mistakes: string[] = [];
  if (ADMIN_PORT !== undefined && ADMIN_PORT !== 0 && ADMIN_PORT === PORT) {
    mistakes.push(`ADMIN_PORT must be another port than PORT (both are ${PORT}).`);
  }
  if (ADMIN_HOST !== undefined && ADMIN_ORIGIN === undefined && !isLoopback(ADMIN_HOST)) {
    mistakes.push(
      `ADMIN_ORIGIN must be set when ADMIN_HOST is ${ADMIN_HOST}: other machines reach the admin API there, and tokens and ` +
        'sessions would cross the network in the clear. Put a proxy with TLS before it and set ADMIN_ORIGIN to its ' +
        'https address, set ADMIN_HOST to 127.0.0.1, or set ADMIN_PORT to off.',
    );
  }
  return mistakes;
}
