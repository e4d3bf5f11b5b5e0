/** Spanish vocabulary; nouns by gender, adjectives as stems where the ending follows it. */

import { common } from "./common.ts";

/** Spanish names, titles and sentences. */
export const spanish = {
  ...common,
  given: `José María Juan Carmen Luis Ana Carlos Lucía Miguel Sofía Jesús Paula Javier Elena Andrés Martina Álvaro Inés Íñigo Begoña Ramón
    Pilar Raúl Rocío Sergio Nuria Óscar Mónica Iván Verónica Rubén Ángela Adrián Belén Víctor Noemí Hernán Ximena Mateo Valentina Santiago
    Camila Joaquín Renata Emiliano Guadalupe Nicolás Rosario Tomás Consuelo Iñaki Itziar Joan Montserrat Xoán Uxía`,
  family: `García Rodríguez González Fernández López Martínez Sánchez Pérez Gómez Martín Jiménez Ruiz Hernández Díaz Moreno Muñoz Álvarez
    Romero Alonso Gutiérrez Navarro Torres Domínguez Vázquez Ramos Gil Ramírez Serrano Blanco Molina Morales Suárez Ortega Delgado Castro
    Ortiz Rubio Marín Sanz Núñez Iglesias Medina Garrido Cortés Castillo Santos Lozano Guerrero Cano Prieto Méndez Cruz Calvo Gallego
    Peña León Márquez Herrera Ibáñez Güell Echeverría Avendaño Zúñiga Quiñones Peñaranda Logroño`,
  stem: `pequeñ antigu oscur perdid encantad olvidad secret tranquil nuev escondid blanc negr roj dorad helad solitari mágic abandonad
    congelad iluminad misterios silencios maravillos subterráne lejan extrañ`,
  manly: `mundo bosque castillo jardín café pueblo parque lago templo cuarto mar barco cine teatro museo faro desierto palacio laberinto sueño
    mercado puerto río valle tren patio rincón callejón volcán cañón baño taller`,
  female: `casa isla ciudad playa escuela cueva montaña biblioteca torre plaza noche estación fiesta sala luna cabaña mina nave selva cocina
    azotea taberna estrella piscina fuente calle montaña ermita viña pirámide habitación canción`,
  what: [
    "un {manly} {stem}o",
    "una {female} {stem}a",
    "el {manly} {stem}o",
    "la {female} {stem}a",
    "un {manly}",
    "una {female}",
  ],
  things: `juegos amigos espejos libros secretos luces músicas puzles estrellas tesoros peces flores gatos dragones fotos canciones sillas puertas
    monedas niños piñatas máscaras trampas guitarras montañas sueños señales búhos`,
  who: `amigos todos parejas familias principiantes artistas soñadores viajeros músicos niños jugadores curiosos compañeros`,
  verb: `explorar bailar jugar descansar charlar cantar soñar dibujar pescar dormir leer nadar volar correr construir cocinar reír aprender`,
  sentence: [
    "{^what} para {who}.",
    "Un lugar para {verb} y {verb} con {who}.",
    "Ven a {verb} en {what}.",
    "¡Bienvenidos a {what}!",
    "¿Puedes encontrar los {many} secretos de {what}?",
    "Hay {things}, {things} y {what}.",
    "Este mundo está hecho para {verb} de noche.",
    "Máximo {many} personas.",
    "Detrás de {what} se esconde {what}.",
    "Todavía en construcción, pronto habrá más {things}.",
    "Gracias a {given} por la música y los modelos.",
    "Desde {year} nos reunimos aquí para {verb}.",
    "Despiertas en {what} y no recuerdas nada.",
    "No mires atrás: {what} te espera.",
    "Funciona en el móvil y en el ordenador.",
    "El año pasado era {what}; mañana será {what}.",
  ],
  title: [
    "El {manly} {stem}o",
    "La {female} {stem}a",
    "{^manly} {stem}o",
    "{^female} {stem}a",
    "El {manly} de {given}",
    "La {female} de {given}",
    "{^manly} y {female}",
    "{^things} en la {female}",
    "¡A {verb}!",
    "{^verb} en el {manly}",
    "La {female} de {^coined}",
    "{^manly} {dd}",
  ],
  person: [
    "{given} {family} {family}",
    "{given} {family}",
    "{given} {family}",
    "{given}",
    "{given} {given} {family}",
  ],
  nick: [
    "El{^manly}{^stem}o",
    "la_{female}_{stem}a",
    "{given}{num}",
    "{manly}{num}",
    "{given}_{family}{dd}",
    "{given} el {stem}o",
    "{given} la {stem}a",
    "Señor {^manly}",
    "don{given}",
    "{female}_{stem}a{d}",
  ],
} as const;
