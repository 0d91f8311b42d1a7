import type { Credential } from '../operations/admission.ts';

const bearer = /^bearer +(\S+)$/i;

/**
 * The bearer token of the Authorization header (RFC 6750 section 2.1; the scheme is case-insensitive, RFC 9110
 * section 11.1). A header given twice arrives joined by a comma and so is malformed.
 */
export function credentialOf(headers: Headers): Credential {
  const authorization = headers.get('authorization');
  if (authorization === null || authorization === '') return { kind: 'none' };
  const key = bearer.exec(authorization)?.[1];
  return key === undefined ? { kind: 'malformed' } : { kind: 'key', key };
}
