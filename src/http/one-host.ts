import { Refusal } from '../domain/refusal.ts';

/**
 * Whether a request has several Host headers, which the runtime joins with a comma and a space. It has to get 400 (RFC 9112,
 * section 3.2), because two programs could take it for requests to different hosts.
 */
export function hasSeveralHosts({ headers }: Request): boolean {
  return headers.get('host')?.includes(', ') ?? false;
}

export function severalHosts(): Refusal {
  const message = 'must be sent once';
  return new Refusal('invalid_parameter', {
    message: `The request is invalid: Host ${message}.`,
    details: [{ in: 'header', name: 'Host', message }],
  });
}
