import { createPet, getPet } from './generated/orval.js';

export async function example() {
  await createPet({ name: 'Ozzy', categoryId: 1 });
  const response = await getPet(1);
  switch (response.status) {
    case 200:
      return response.data.name;
    case 304:
      return 'unchanged';
    case 404:
      return response.data.code satisfies 'pet_not_found';
    case 410:
      return response.data.code satisfies 'operation_removed';
    case 401:
      return response.data.code satisfies 'missing_api_key' | 'invalid_api_key';
    default:
      return response.data.message;
  }
}
