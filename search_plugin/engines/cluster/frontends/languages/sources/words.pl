# The words of a text as the cluster names them: in lower case, without accents, letters and digits alone.
use Unicode::Normalize;
my $plain = lc(NFD(Encode::decode("UTF-8", $ARGV[0])) =~ s/\p{Mn}//gr);
print encode_json([$plain =~ /[\p{L}\p{N}]+/g]);
