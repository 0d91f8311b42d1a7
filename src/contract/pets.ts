import * as z from 'zod';
import { petStatuses } from '../domain/pet-status.ts';
import { parseInt64 } from './json.ts';
import {
  assignedId,
  bodyError,
  cursorParameter,
  int64,
  int64Hint,
  int64Parameter,
  limitParameter,
  oneOf,
  pageLimit,
  text,
  unselected,
} from './values.ts';

/** How many animals one request may name by their ids. */
const mostIds = 100;

export const PetStatus = z
  .enum(petStatuses, { error: oneOf(petStatuses) })
  .meta({ id: 'PetStatus', description: 'Whether the animal can be bought.' });

const name = text("The animal's name.", 'Ozzy');

const categoryId = int64(`ID of the category that the animal belongs to. ${int64Hint}`, 1);

const newStatus = PetStatus.default('available').meta({
  description: 'Whether the animal can be bought; `available` when omitted.',
});

export const NewPet = z
  .strictObject(
    { name, categoryId, status: newStatus },
    { error: bodyError('a new animal', 'name, categoryId and status') },
  )
  .meta({ id: 'NewPet', description: 'An animal to add.' });

/** A merge patch (RFC 7396). No member can be taken away, so none may be null. */
export const PetPatch = z
  .strictObject(
    { name: name.optional(), categoryId: categoryId.optional(), status: PetStatus.optional() },
    { error: bodyError('a change of an animal', 'name, categoryId and status') },
  )
  .meta({ id: 'PetPatch', description: 'Members of an animal to change; the others stay as they are.' });

// What the service sends may gain members within v1, so clients are not promised that there are no others.
export const Pet = z
  .object({ id: assignedId('Unique ID'), name, categoryId, status: PetStatus })
  .meta({ id: 'Pet', description: 'An animal in the store.' });

export const Pets = z.array(Pet).max(pageLimit.max).meta({ id: 'Pets', description: 'A page of animals.' });

const idsForm = `must be 1 to ${mostIds} ids, separated by commas`;

const ids = z
  .string()
  .transform((list, context) => {
    const found = list.split(',').map(parseInt64);
    if (found.length <= mostIds && found.every((id) => id !== undefined)) return [...new Set(found)];
    context.addIssue({ code: 'custom', message: idsForm });
    return z.NEVER;
  })
  .optional()
  .meta({
    description: `Return only the animals with these ids: 1 to ${mostIds}, separated by commas.`,
    override: { type: 'array', items: { type: 'integer', format: 'int64' }, minItems: 1, maxItems: mostIds },
    param: { 'x-stability': 'beta', style: 'form', explode: false, examples: unselected([7]) },
  });

/** The list operation's query; values arrive as text. */
export const ListPetsQuery = z.strictObject({
  limit: limitParameter('animals'),
  status: PetStatus.optional().meta({
    description: 'Return only animals with this status.',
    param: { examples: unselected('available') },
  }),
  categoryId: int64Parameter('Return only animals of this category.').optional(),
  id: ids,
  cursor: cursorParameter,
});

export const PetId = int64('ID of the animal.', 1);

export type PetStatus = z.infer<typeof PetStatus>;
export type NewPet = z.infer<typeof NewPet>;
export type PetPatch = z.infer<typeof PetPatch>;
export type Pet = z.infer<typeof Pet>;
export type ListPetsQuery = z.infer<typeof ListPetsQuery>;

/** An animal as JSON, with its integers digit for digit; members in the order the contract states. */
export function petJson({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}
