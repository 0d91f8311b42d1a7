import type { Config } from '../config.ts';
import { mistakeInEndpoint, systemResolve } from '../webhooks/endpoint.ts';
import { openSecret, sealSecret } from '../webhooks/secrets.ts';
import { makeWebhookSecret } from '../webhooks/signature.ts';
import type { Runtime } from './services.ts';

/** What the operations of webhooks take from outside the store. */
export function webhookParts(
  { webhooks: { allowedNetworks: allowed, secretsKeys: keys } }: Pick<Config, 'webhooks'>,
  { randomBytes, resolve = systemResolve }: Pick<Runtime, 'randomBytes' | 'resolve'>,
) {
  return {
    checkEndpoint: (url: string) => mistakeInEndpoint(url, { resolve, allowed }),
    secrets: {
      make: () => makeWebhookSecret(randomBytes),
      seal: (secret: string) => sealSecret(secret, keys, randomBytes),
      open: (sealed: string) => openSecret(sealed, keys),
    },
  };
}
