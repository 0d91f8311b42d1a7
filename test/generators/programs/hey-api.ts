import { createClient } from './generated/hey-api/client/index.js';
import type { GetPetError } from './generated/hey-api/index.js';
import { createPet, getPet } from './generated/hey-api/index.js';

const client = createClient({ baseUrl: 'http://127.0.0.1:3000/v1', auth: () => 'ask_your_first_key' });

export async function example() {
  await createPet({ client, body: { name: 'Ozzy', categoryId: 1 } });
  const { data, error } = await getPet({ client, path: { petId: 1 } });
  return error === undefined ? data?.name : explain(error);
}

export function explain({ code }: GetPetError): 'client' | 'wait' | 'service' {
  switch (code) {
    case 'pet_not_found':
    case 'operation_removed':
    case 'invalid_parameter':
    case 'missing_api_key':
    case 'invalid_api_key':
    case 'insufficient_scope':
      return 'client';
    case 'rate_limit_exceeded':
    case 'daily_quota_exceeded':
    case 'api_key_banned':
    case 'too_many_failed_authentications':
    case 'service_unavailable':
      return 'wait';
    case 'internal_error':
      return 'service';
    default:
      return code satisfies never;
  }
}
