/** Return the words of a text as the cluster names them: in lower case, without accents, letters and digits alone. */
function words_of(string $text): array
{
    $plain = preg_replace('/\p{Mn}/u', '', \Normalizer::normalize(mb_scrub($text, 'UTF-8'), \Normalizer::FORM_D));
    preg_match_all('/[\p{L}\p{N}]+/u', mb_strtolower($plain, 'UTF-8'), $found);
    return $found[0];
}
