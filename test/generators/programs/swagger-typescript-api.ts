import { Api } from './generated/swagger-typescript-api.js';

const api = new Api({ baseUrl: 'http://127.0.0.1:3000/v1' });

// `void` is the type of a 304, which has no body and is sent only for requests with If-None-Match.
type Failure = Exclude<Awaited<ReturnType<typeof api.pets.getPet>>['error'], void>;

export async function example() {
  await api.pets.createPet({ name: 'Ozzy', categoryId: 1 });
  const { data, error } = await api.pets.getPet(1);
  return error ? explain(error) : data.name;
}

export function explain({ code }: Failure): 'client' | 'wait' | 'service' {
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
