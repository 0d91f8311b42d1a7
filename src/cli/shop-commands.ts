/** The commands for what the store has: animals, orders and categories. They obey the rules that clients do. */
import type { Command } from 'commander';
import { CategoryName } from '../contract/categories.ts';
import { NewOrder, OrderStatus } from '../contract/orders.ts';
import { ListPetsQuery, PetPatch } from '../contract/pets.ts';
import type { OrderStep } from '../domain/order-status.ts';
import {
  addCommand,
  addGroup,
  addList,
  categoryOption,
  jsonOption,
  type ReadConfig,
  statusOption,
} from './command.ts';
import { asInApi, int64 } from './values.ts';

const besideService = 'The service can keep running.';

export function addPets(program: Command, config: ReadConfig): void {
  const pets = addGroup(program, 'pets', 'Show, change and remove animals. To add many, use import.');
  addListPets(pets, config);
  addCommand(pets, 'show', {
    summary: 'Show an animal.',
    examples: ['animal-store pets show 7', 'animal-store pets show 7 --json'],
  })
    .argument('<pet-id>', 'id of the animal', int64)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./pets.ts')).showPet(config(), id, options));

  addCommand(pets, 'update', {
    summary: 'Change an animal. What is not given stays as it is.',
    examples: [
      'animal-store pets update 7 --status sold',
      'animal-store pets update 7 --name Ozzy --category 3',
    ],
    notes: [
      'available can become pending or sold, pending can become available or sold, sold can become available.',
      `While an open order holds the animal, its status cannot be changed. ${besideService}`,
    ],
  })
    .argument('<pet-id>', 'id of the animal', int64)
    .option('--name <name>', 'new name', asInApi(PetPatch.shape.name))
    .addOption(categoryOption('id of the new category'))
    .addOption(statusOption('new status: available, pending or sold'))
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./pets.ts')).updatePet(config(), id, options));

  addCommand(pets, 'remove', {
    summary: 'Remove an animal permanently.',
    examples: ['animal-store pets remove 7'],
    notes: [`An animal that an open order holds is not removed. Ids are never used again. ${besideService}`],
  })
    .argument('<pet-id>', 'id of the animal', int64)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./pets.ts')).removePet(config(), id, options));
}

function addListPets(pets: Command, config: ReadConfig): void {
  addList(pets, {
    summary: 'List animals by ascending id.',
    examples: [
      'animal-store pets list --status available --category 3',
      'animal-store pets list --id 7,8,9 --json',
      'animal-store pets list --after 120 --limit all',
    ],
    notes: ['The filters can be combined. To write all animals to a file, use export.'],
  })
    .addOption(statusOption('only animals with this status: available, pending or sold'))
    .addOption(categoryOption('only animals of this category'))
    .option(
      '--id <ids>',
      'only the animals with these ids, separated by commas',
      asInApi(ListPetsQuery.shape.id),
    )
    .action(async (options) => (await import('./pets.ts')).listPets(config(), options));
}

export function addOrders(program: Command, config: ReadConfig): void {
  const orders = addGroup(program, 'orders', 'List, place and move orders.');
  addList(orders, {
    summary: 'List orders by ascending id.',
    examples: ['animal-store orders list --status placed', 'animal-store orders list --pet 7 --json'],
    notes: ['The filters can be combined.'],
  })
    .option(
      '--status <status>',
      'only orders with this status: placed, approved, delivered, returned or cancelled',
      asInApi(OrderStatus),
    )
    .option('--pet <pet-id>', 'only orders for this animal', int64)
    .action(async (options) => (await import('./orders.ts')).listOrders(config(), options));

  addCommand(orders, 'show', {
    summary: 'Show an order.',
    examples: ['animal-store orders show 3', 'animal-store orders show 3 --json'],
  })
    .argument('<order-id>', 'id of the order', int64)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./orders.ts')).showOrder(config(), id, options));

  addCommand(orders, 'place', {
    summary: 'Order an animal. It must be available and becomes pending.',
    examples: ['animal-store orders place 7', 'animal-store orders place 7 --reference "by phone, Ms Jones"'],
    notes: [besideService],
  })
    .argument('<pet-id>', 'id of the animal', int64)
    .option('--reference <text>', 'your own word for the order', asInApi(NewOrder.shape.reference))
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./orders.ts')).placeOrder(config(), id, options));
  addSteps(orders, config);
}

const steps: Readonly<Record<OrderStep, string>> = {
  approve: 'Approve an order that is placed.',
  deliver: 'Deliver an order that is approved. Its animal becomes sold.',
  cancel: 'Cancel an order that is placed or approved. Its animal becomes available again.',
  return: 'Return an order that is delivered. Its animal becomes available again, if it is still sold.',
};

function addSteps(orders: Command, config: ReadConfig): void {
  for (const [step, summary] of Object.entries(steps) as [OrderStep, string][]) {
    addCommand(orders, step, {
      summary,
      examples: [`animal-store orders ${step} 3`],
      notes: [besideService],
    })
      .argument('<order-id>', 'id of the order', int64)
      .addOption(jsonOption())
      .action(async (id, options) => (await import('./orders.ts')).takeStep(config(), step, id, options));
  }
}

export function addCategories(program: Command, config: ReadConfig): void {
  const categories = addGroup(program, 'categories', 'Name the categories of animals.');
  const list = {
    summary: 'List the categories that have a name, by ascending id.',
    examples: ['animal-store categories list', 'animal-store categories list --limit all --json'],
  };
  addList(categories, list, int64).action(async (options) =>
    (await import('./categories.ts')).listCategories(config(), options),
  );

  addCommand(categories, 'show', {
    summary: 'Show the name of a category.',
    examples: ['animal-store categories show 3'],
  })
    .argument('<category-id>', 'id of the category', int64)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./categories.ts')).showCategory(config(), id, options));

  addCommand(categories, 'set', {
    summary: 'Give a category its name, or another one.',
    examples: ['animal-store categories set 3 Dogs'],
    notes: [`Animals can have a category before it has a name. ${besideService}`],
  })
    .argument('<category-id>', 'id of the category', int64)
    .argument('<name>', 'name of the category', asInApi(CategoryName.shape.name))
    .addOption(jsonOption())
    .action(async (id, name, options) =>
      (await import('./categories.ts')).setCategory(config(), id, name, options),
    );

  addCommand(categories, 'remove', {
    summary: 'Remove the name of a category. Its animals keep their category.',
    examples: ['animal-store categories remove 3'],
    notes: [besideService],
  })
    .argument('<category-id>', 'id of the category', int64)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./categories.ts')).removeCategory(config(), id, options));
}

export function addInventory(program: Command, config: ReadConfig): void {
  addCommand(program, 'inventory', {
    summary: 'Count the animals in each status.',
    examples: ['animal-store inventory', 'animal-store inventory --category 3 --json'],
  })
    .addOption(categoryOption('only animals of this category'))
    .addOption(jsonOption())
    .action(async (options) => (await import('./pets.ts')).showInventory(config(), options));
}
